#include "services/rest/json/fabric/alarm.h"

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/base/text/utf8.h"
#include "services/json/contract_object.h"
#include "services/json/message_value.h"
#include "services/json/strict_json.h"
#include "services/rest/json/fabric/alarm_value.h"
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

namespace {

void read_note_field(ObjectReader& reader, std::string& note) {
  reader.read("note", note);
  if (note.size() > control::Alarm::kMaxNote || !is_printable_utf8(note)) {
    reader.set_error("note", fmt::format("must be printable UTF-8 of at most {} bytes", control::Alarm::kMaxNote));
  }
}

}  // namespace

Result<std::string> read_note(std::string_view body) {
  std::string note;
  if (body.empty()) return note;
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  read_note_field(reader, note);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return note;
}

Result<MuteRequest> read_mute(std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  MuteRequest mute;
  std::string text;
  ObjectReader reader(*value, "");
  reader.require("for");
  reader.read("for", text);
  read_note_field(reader, mute.note);
  const auto seconds = parse_duration_s(text);
  constexpr std::int64_t kSecond_us = 1'000'000;
  if (!seconds || *seconds < control::AlarmMute::kShortest_us / kSecond_us ||
      *seconds > control::AlarmMute::kLongest_us / kSecond_us) {
    reader.set_error("for", shown(text) + " is no duration from PT1M to P30D", "like PT2H (ISO 8601)");
  } else {
    mute.for_us = *seconds * kSecond_us;
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return mute;
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
  return object<"Alarm.acknowledged">(with<"by">(alarm.acknowledged_by), with<"at">(time_text(alarm.acknowledged_us)),
                                      with<"note">(alarm.acknowledged_note));
}

Out mute_json(const control::AlarmMute* mute) {
  if (mute == nullptr) return nullptr;
  return object<"Alarm.muted">(with<"by">(mute->by), with<"at">(time_text(mute->at_us)),
                               with<"until">(time_text(mute->until_us)), with<"note">(mute->note));
}

}  // namespace

Out shown_alarm_json(const fabric::Topology& topology, const control::Alarm& alarm, const control::AlarmMute* mute,
                     const MessageReader& reader) {
  return object<"Alarm">(
      with<"id">(alarm.id()), with<"kind">(alarm.kind), with<"severity">(alarm.severity),
      with<"subject">(object<"Alarm.subject">(with<"kind">(alarm.subject_kind), with<"id">(alarm.subject_id),
                                              with<"name">(subject_name(topology, alarm)))),
      with<"subnet">(alarm.subnet.empty() ? Out(nullptr) : Out(alarm.subnet)), with<"text">(alarm.text.text(reader)),
      with<"message">(message_value(alarm.text, reader, alarm.kind)), with<"jobs">(alarm.jobs),
      with<"raisedAt">(time_text(alarm.raised_us)), with<"acknowledged">(acknowledgement_json(alarm)),
      with<"muted">(mute_json(mute)), with<"version">(alarm.version));
}

std::string write_alarm(const control::ClusterState& state, const control::Alarm& alarm, const MessageReader& reader) {
  return dump(shown_alarm_json(state.topology(), alarm, state.mute(alarm.id()), reader));
}

}  // namespace railweave::api
