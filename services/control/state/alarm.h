// Something that is wrong now and that somebody should see to. One alarm per kind and subject; what raised it clears
// it. The event stream keeps the history.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace railweave::control {

enum class AlarmSeverity : std::uint8_t { warning, critical };

struct Alarm {
  std::string kind;          // "link.down", "switch.silent", "link.symbolErrors", "sync.mismatch"
  std::string subject_kind;  // "link", "switch", "node", "subnet"
  std::string subject_id;
  std::string subnet;
  AlarmSeverity severity = AlarmSeverity::warning;
  std::string text;               // what is wrong and what to do
  std::vector<std::string> jobs;  // affected when it was raised, at most kMaxJobs
  std::int64_t raised_us = 0;
  std::uint64_t version = 0;  // seq of the event that raised or last changed it

  static constexpr std::size_t kMaxJobs = 100;
  [[nodiscard]] std::string id() const { return kind + ":" + subject_id; }
};

using AlarmTable = std::map<std::string, Alarm, std::less<>>;  // by id
inline constexpr std::size_t kMaxAlarms = 10'000;              // further ones are not kept, which one alarm says

}  // namespace railweave::control
