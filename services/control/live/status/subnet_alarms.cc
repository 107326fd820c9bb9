#include "services/control/live/status/subnet_alarms.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace railweave::control {
namespace {

// What a mode writes, and what stands in its way.
bool is_of_mode(std::string_view kind) {
  constexpr std::array<std::string_view, 5> kOfModes = {"routes.", "qos.", "opensm.", "subnet.notWritable",
                                                        "port.notActive"};
  return std::ranges::any_of(kOfModes, [&](std::string_view start) { return kind.starts_with(start); });
}

}  // namespace

void SubnetAlarms::set(const std::string& kind, std::vector<Alarm> alarms) {
  auto& present = raised_[kind];
  std::map<std::string, Alarm> wanted;
  ReportAlarms report;
  for (auto& alarm : alarms) {
    alarm.kind = kind;
    alarm.subnet = subnet_;
    const auto before = present.find(alarm.id());
    const bool same =
        before != present.end() && before->second.severity == alarm.severity && before->second.text == alarm.text;
    if (!same) report.raised.push_back(alarm);
    wanted.insert_or_assign(alarm.id(), std::move(alarm));
  }
  for (const auto& [id, alarm] : present) {
    if (!wanted.contains(id)) report.cleared.push_back(id);
  }
  present = std::move(wanted);
  if (!report.raised.empty() || !report.cleared.empty()) report_(std::move(report));
}

void SubnetAlarms::set_subnet(const std::string& kind, AlarmSeverity severity, const std::string& text) {
  std::vector<Alarm> alarms;
  if (!text.empty()) {
    alarms.push_back({.subject_kind = "subnet", .subject_id = subnet_, .severity = severity, .text = text});
  }
  set(kind, std::move(alarms));
}

void SubnetAlarms::clear_of_mode() {
  ReportAlarms report;
  for (const auto& [kind, alarms] : raised_) {
    if (!is_of_mode(kind)) continue;
    for (const auto& [id, alarm] : alarms) report.cleared.push_back(id);
  }
  std::erase_if(raised_, [](const auto& kind) { return is_of_mode(kind.first); });
  if (!report.cleared.empty()) report_(std::move(report));
}

void SubnetAlarms::repeat_lost(const AlarmTable& table) const {
  ReportAlarms report;
  for (const auto& [kind, alarms] : raised_) {
    for (const auto& [id, alarm] : alarms) {
      if (!table.contains(id)) report.raised.push_back(alarm);
    }
  }
  for (const auto& [id, alarm] : table) {
    if (alarm.subnet != subnet_ || alarm.kind == "hosts.cutOff") continue;  // which follows from the state
    const auto kind = raised_.find(alarm.kind);
    if (kind == raised_.end() || !kind->second.contains(id)) report.cleared.push_back(id);
  }
  if (!report.raised.empty() || !report.cleared.empty()) report_(std::move(report));
}

}  // namespace railweave::control
