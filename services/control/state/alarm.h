// Alarms: what is wrong now and needs an operator's attention. There is at most one alarm per kind and subject; the
// part of the service that raised it clears it. The event stream keeps the history.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class AlarmSeverity : std::uint8_t { warning, critical };
BOOST_DESCRIBE_ENUM(AlarmSeverity, warning, critical)

struct Alarm {
  std::string kind;          // "link.down", "switch.silent", "link.symbolErrors", "sync.mismatch"
  std::string subject_kind;  // "link", "switch", "node", "subnet"
  std::string subject_id;
  std::string subnet;
  AlarmSeverity severity = AlarmSeverity::warning;
  std::string text;               // what is wrong and what to do
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

using AlarmTable = std::map<std::string, Alarm, std::less<>>;  // by Alarm::id()
inline constexpr std::size_t kMaxAlarms = 10'000;              // alarms of further subjects are dropped

}  // namespace railweave::control
