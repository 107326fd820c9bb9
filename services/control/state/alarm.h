// Alarms: what is wrong now and needs an operator's attention. There is at most one alarm per kind and subject; the
// part of the service that raised it clears it. The event stream keeps the history.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/message.h"

namespace railweave::control {

enum class AlarmSeverity : std::uint8_t { warning, critical };
BOOST_DESCRIBE_ENUM(AlarmSeverity, warning, critical)

struct Alarm {
  std::string kind;          // "link.down", "switch.silent", "link.symbolErrors", "sync.mismatch"
  std::string subject_kind;  // "link", "switch", "node", "subnet"
  std::string subject_id;
  std::string subnet;
  AlarmSeverity severity = AlarmSeverity::warning;
  Message text;                   // what is wrong and what to do, by the code `kind`
  std::vector<std::string> jobs;  // affected when the alarm was raised; at most kMaxJobs
  std::int64_t raised_us = 0;
  std::uint64_t version = 0;  // seq of the event that raised or last changed it
  // A person looks after it, until it is raised again with a higher severity.
  std::string acknowledged_by, acknowledged_note;
  std::int64_t acknowledged_us = 0;  // 0: not acknowledged

  static constexpr std::size_t kMaxJobs = 100;
  static constexpr std::size_t kMaxNote = 500;  // bytes
  [[nodiscard]] bool acknowledged() const { return acknowledged_us != 0; }
  [[nodiscard]] std::string id() const { return kind + ":" + subject_id; }
};

// An alarm that is listed apart for a while. It outlives the alarm, so that one that comes and goes stays muted.
struct AlarmMute {
  std::string by, note;
  AlarmSeverity severity = AlarmSeverity::warning;  // of the alarm then: a worse one is not muted
  std::int64_t at_us = 0, until_us = 0;

  static constexpr std::int64_t kShortest_us = 60'000'000;
  static constexpr std::int64_t kLongest_us = std::int64_t{30} * 86'400 * 1'000'000;
};
using MuteTable = std::map<std::string, AlarmMute, std::less<>>;  // by Alarm::id(); at most kMaxAlarms

using AlarmTable = std::map<std::string, Alarm, std::less<>>;  // by Alarm::id()
inline constexpr std::size_t kMaxAlarms = 10'000;              // alarms of further subjects are dropped

}  // namespace railweave::control
