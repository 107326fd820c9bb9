// railweave alarms: what is wrong now.
#include "services/railweave/command_line/listing.h"

namespace railweave::cli {
namespace {

std::string subject_of_alarm(const Json& alarm) {
  const Json& subject = field(alarm, "subject");
  return text_of(subject, "kind") + " " + text_of(subject, "id");
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
           text_column("WHAT", "text")},
          "no alarms"};
}

struct AlarmOptions {
  std::string severity, kind, subnet, subject;
  std::uint64_t limit = 0;
};

}  // namespace

void add_alarm_command(CLI::App& root, Session& session) {
  auto options = std::make_shared<AlarmOptions>();
  CLI::App& command = add_command(root, "alarms", "What is wrong with the fabric now",
                                  {"railweave alarms", "railweave alarms --severity critical",
                                   "railweave alarms --kind link.down --subnet compute -o json"});
  command.group("Fabric");
  command.add_option("--severity", options->severity, "Of this severity")->type_name("warning|critical");
  command.add_option("--kind", options->kind, "Of this kind, as link.down")->type_name("KIND");
  command.add_option("--subnet", options->subnet, "Of this subnet")->type_name("NAME");
  command.add_option("--subject", options->subject, "About this, as switch/leaf-07, or all of a kind, as link")
      ->type_name("KIND/ID");
  add_limit_option(command, options->limit);
  on_run(command, session, [&session, options] {
    Target target("/v1/alarms");
    target.filter("severity", options->severity).filter("kind", options->kind);
    target.filter("subnet", options->subnet).filter("subject", options->subject);
    print_list(session, target, alarms_view(), options->limit);
  });
}

}  // namespace railweave::cli
