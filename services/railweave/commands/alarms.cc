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
           {"JOBS", [](const Json& alarm) { return Cell(joined(list(alarm, "jobs"), 3)); }},
           text_column("TEXT", "text")},
          "no alarms"};
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
              "Only alarms about this object, such as switch/leaf-07, or about a kind of object, such as link"}}});
}

}  // namespace railweave::cli
