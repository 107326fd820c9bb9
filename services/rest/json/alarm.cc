#include "services/rest/json/alarm.h"

#include "fabric/base/text/time_text.h"
#include "fabric/base/text/utf8.h"
#include "services/json/strict_json.h"
#include "services/rest/json/alarm_value.h"
#include "services/rest/json/link_value.h"

namespace railweave::api {

using control::AlarmSeverity;

std::string_view to_string(AlarmSeverity severity) {
  return severity == AlarmSeverity::critical ? "critical" : "warning";
}

std::optional<AlarmSeverity> parse_alarm_severity(std::string_view text) {
  for (const auto severity : {AlarmSeverity::warning, AlarmSeverity::critical}) {
    if (to_string(severity) == text) return severity;
  }
  return std::nullopt;
}

Result<std::string> read_note(std::string_view body) {
  std::string note;
  if (body.empty()) return note;
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  reader.read("note", note);
  if (note.size() > control::Alarm::kMaxNote || !is_printable_utf8(note)) {
    reader.set_error("note",
                     "must be printable UTF-8 of at most " + std::to_string(control::Alarm::kMaxNote) + " bytes");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return note;
}

namespace {

// By the names of devices, where it is one of the fabric; else its id.
std::string subject_name(const fabric::Topology& topology, const control::Alarm& alarm) {
  if (alarm.subject_kind == "link") {
    if (const auto link = topology.find_link(alarm.subject_id)) return link_name(topology, link);
  } else if (alarm.subject_kind == "port") {
    if (const auto port = topology.find_port(alarm.subject_id)) return port_name(topology, port);
  } else if (alarm.subject_kind == "switch") {
    if (const auto sw = topology.find_switch(alarm.subject_id)) return std::string(topology.name(sw));
  }
  return alarm.subject_id;
}

Out acknowledgement_json(const control::Alarm& alarm) {
  if (!alarm.acknowledged()) return nullptr;
  return {{"by", alarm.acknowledged_by}, {"at", time_text(alarm.acknowledged_us)}, {"note", alarm.acknowledged_note}};
}

}  // namespace

Out shown_alarm_json(const fabric::Topology& topology, const control::Alarm& alarm) {
  return {
      {"id", alarm.id()},
      {"kind", alarm.kind},
      {"severity", to_string(alarm.severity)},
      {"subject", {{"kind", alarm.subject_kind}, {"id", alarm.subject_id}, {"name", subject_name(topology, alarm)}}},
      {"subnet", alarm.subnet.empty() ? Out(nullptr) : Out(alarm.subnet)},
      {"text", alarm.text},
      {"jobs", alarm.jobs},
      {"raisedAt", time_text(alarm.raised_us)},
      {"acknowledged", acknowledgement_json(alarm)},
      {"version", alarm.version}};
}

std::string write_alarm(const fabric::Topology& topology, const control::Alarm& alarm) {
  return dump(shown_alarm_json(topology, alarm));
}

}  // namespace railweave::api
