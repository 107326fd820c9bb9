// railweave alarms.
#include "services/railweave/commands/alarms.h"

#include <functional>
#include <memory>

#include "fabric/base/text/time_text.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/connection/rest_words.h"
#include "services/railweave/terminal/age.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

std::string subject_of_alarm(const Json& alarm) {
  const Json& subject = field(alarm, "subject");
  return text_of(subject, "kind") + " " + text_of(subject, "name");
}

Cell severity_cell(const Json& alarm) {
  const std::string severity = text_of(alarm, "severity");
  return {severity, severity == "critical" ? Tone::bad : Tone::warning};
}

// "until 2026-11-21T05:00:00Z by olga: INC-42".
Cell muted_cell(const Json& alarm) {
  const Json& muted = field(alarm, "muted");
  const std::string note = text_of(muted, "note");
  return "until " + time_of(muted, "until") + " by " + text_of(muted, "by") + (note.empty() ? "" : ": " + note);
}

// By the names of devices, as the subject is.
Cell alarm_text_cell(const Json& alarm) {
  std::string text = in_commands(text_of(alarm, "text"));
  const std::string id = text_of(field(alarm, "subject"), "id");
  if (const auto at = text.find(id); !id.empty() && at != std::string::npos) {
    text.replace(at, id.size(), text_of(field(alarm, "subject"), "name"));
  }
  return text;
}

}  // namespace

ListView alarms_view() {
  return {{{"SEVERITY", severity_cell},
           {"KIND", [](const Json& alarm) { return Cell(text_of(alarm, "kind")); }},
           {"SUBJECT", [](const Json& alarm) { return Cell(subject_of_alarm(alarm)); }},
           {"SUBNET", [](const Json& alarm) { return Cell(text_of(alarm, "subnet")); }, Align::left, false, true},
           spare_time_column("SINCE", "raisedAt"),
           age_column("raisedAt"),
           {"ACKNOWLEDGED", [](const Json& alarm) { return Cell(text_of(field(alarm, "acknowledged"), "by")); },
            Align::left, true},
           {"JOBS", [](const Json& alarm) { return Cell(joined(list(alarm, "jobs"), 3)); }, Align::left, false, true},
           {"TEXT", alarm_text_cell, Align::left, false, false, true}},
          "no alarms",
          false,
          [](const Json& alarm) { return text_of(alarm, "severity") == "critical" ? 0 : 1; },
          {is_muted, "Muted, and back by themselves:", {"MUTED", muted_cell}}};
}

bool is_muted(const Json& alarm) { return field(alarm, "muted").is_object(); }

namespace {

constexpr ResourceKind kAlarm{"/v1/alarms", "alarm", "ALARM", "Its id, as `railweave alarms -o name` prints it",
                              nullptr};

Json body_with(const std::string& note) {
  Json body = Json::object();
  if (!note.empty()) body["note"] = note;
  return body;
}

// done: what is said of the alarm as it is then.
void change(Session& session, const std::string& id, const char* verb, const Json& body,
            const std::function<std::string(const Json& alarm)>& done) {
  const Json alarm =
      session.service().send(json_request(api::Method::post, Target(kAlarm.path).segment(id).path(verb), body)).body;
  if (session.output.is_document()) return session.output.document(alarm);
  Sheet sheet;
  sheet.add(id, {done(alarm), Tone::plain});
  session.output.text(sheet.text(session.output.terminal()));
}

void acknowledge(Session& session, const std::string& id, bool acknowledged, const std::string& note) {
  change(session, id, acknowledged ? "/acknowledge" : "/unacknowledge", body_with(note),
         [acknowledged](const Json&) { return acknowledged ? "acknowledged" : "not acknowledged any more"; });
}

void add_acknowledge_command(CLI::App& alarms, Session& session, bool acknowledged) {
  auto note = std::make_shared<std::string>();
  CLI::App& command =
      acknowledged
          ? add_command(alarms, "acknowledge", "Say, to all who look, that an alarm is looked after",
                        {"railweave alarms acknowledge link.down:0c42a10300280050/1--0c42a10300280060/3 --note INC-42"})
          : add_command(alarms, "unacknowledge", "Take an acknowledgement back",
                        {"railweave alarms unacknowledge switch.silent:leaf-07"});
  auto names = add_names(command, kAlarm);
  command.add_option("--note", *note, "For other people")->type_name("TEXT");
  on_run(command, session, [&session, names, note, acknowledged] {
    for_each_name(session, *names, [&](const std::string& id) { acknowledge(session, id, acknowledged, *note); });
  });
}

void add_mute_command(CLI::App& alarms, Session& session) {
  struct Options {
    std::string time, note;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command = add_command(
      alarms, "mute", "List an alarm apart for a time; it comes back by itself, and at once if it gets worse",
      {"railweave alarms mute link.symbolErrors:0c42a10300280050/1 --for 2h --note \"INC-42, cable is ordered\""});
  auto names = add_names(command, kAlarm);
  command.add_option("--for", options->time, "How long: 90s, 30m, 2h, 3d or PT36H; from 1m to 30d")
      ->type_name("TIME")
      ->required();
  command.add_option("--note", options->note, "Why, for other people")->type_name("TEXT");
  on_run(command, session, [&session, names, options] {
    const auto seconds = span_s(options->time);
    if (!seconds || *seconds <= 0)
      fail_usage("--for takes how long, not '" + options->time + "'", "such as 30m, 2h or 3d");
    for_each_name(session, *names, [&](const std::string& id) {
      Json body = body_with(options->note);
      body["for"] = duration_text(*seconds);
      change(session, id, "/mute", body, [](const Json& alarm) { return "muted " + muted_cell(alarm).text; });
    });
  });
}

void add_unmute_command(CLI::App& alarms, Session& session) {
  auto note = std::make_shared<std::string>();
  CLI::App& command = add_command(alarms, "unmute", "List a muted alarm with the others again",
                                  {"railweave alarms unmute link.symbolErrors:0c42a10300280050/1"});
  auto names = add_names(command, kAlarm);
  command.add_option("--note", *note, "For other people")->type_name("TEXT");
  on_run(command, session, [&session, names, note] {
    for_each_name(session, *names, [&](const std::string& id) {
      change(session, id, "/unmute", body_with(*note), [](const Json&) { return "not muted any more"; });
    });
  });
}

}  // namespace

void add_alarm_command(CLI::App& root, Session& session) {
  CLI::App& command = add_command(root, "alarms", "List what is wrong with the fabric now",
                                  {"railweave alarms", "railweave alarms --severity critical",
                                   "railweave alarms --kind link.down --subnet compute -o json"});
  command.group("Fabric");
  add_list(command, session,
           {"/v1/alarms",
            alarms_view(),
            {{"--severity", "severity", "warning|critical", "Only alarms of this severity"},
             {"--kind", "kind", "KIND", "Only alarms of this kind, such as link.down"},
             {"--subnet", "subnet", "NAME", "Only alarms of this subnet"},
             {"--subject", "subject", "KIND/ID",
              "Only alarms about this object, such as switch/leaf-07, or about a kind of object, such as link"},
             {"--unacknowledged", "acknowledged", nullptr, "Only alarms that are not acknowledged", "false"},
             {"--muted", "muted", nullptr, "Only alarms that are muted", "true"}}});
  add_acknowledge_command(command, session, true);
  add_acknowledge_command(command, session, false);
  add_mute_command(command, session);
  add_unmute_command(command, session);
}

}  // namespace railweave::cli
