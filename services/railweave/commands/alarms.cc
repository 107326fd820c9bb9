// railweave alarms.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

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

ListView alarms_view() {
  return {{{"SEVERITY", severity_cell},
           text_column("KIND", "kind"),
           {"SUBJECT", [](const Json& alarm) { return Cell(subject_of_alarm(alarm)); }},
           text_column("SUBNET", "subnet"),
           time_column("SINCE", "raisedAt"),
           {"ACKNOWLEDGED", [](const Json& alarm) { return Cell(text_of(field(alarm, "acknowledged"), "by")); },
            Align::left, true},
           {"JOBS", [](const Json& alarm) { return Cell(joined(list(alarm, "jobs"), 3)); }},
           text_column("TEXT", "text")},
          "no alarms"};
}

constexpr ResourceKind kAlarm{"/v1/alarms", "alarm", "ALARM", "Its id, as `railweave alarms -o name` prints it",
                              nullptr};

void acknowledge(Session& session, const std::string& id, bool acknowledged, const std::string& note) {
  Json body = Json::object();
  if (!note.empty()) body["note"] = note;
  const char* verb = acknowledged ? "/acknowledge" : "/unacknowledge";
  const Json alarm =
      session.service().send(json_request(api::Method::post, Target(kAlarm.path).segment(id).path(verb), body)).body;
  if (session.output.is_document()) return session.output.document(alarm);
  Sheet sheet;
  sheet.add(id, {acknowledged ? "acknowledged" : "not acknowledged any more", Tone::plain});
  session.output.text(sheet.text(session.output.terminal()));
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
             {"--unacknowledged", "acknowledged", nullptr, "Only alarms that are not acknowledged", "false"}}});
  add_acknowledge_command(command, session, true);
  add_acknowledge_command(command, session, false);
}

}  // namespace railweave::cli
