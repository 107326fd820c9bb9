// railweave fabric show|check; the other commands are in fabric_export.cc, fabric_live.cc, fabric_watch.cc and, for import,
// in services/railweave/site.
#include "services/railweave/views/fabric.h"

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/site/site_commands.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

void show_fabric(Session& session) {
  const Json fabric = session.service().get(Target("/v1/fabric"));
  if (session.output.is_document()) return session.output.document(fabric);
  if (count_of(fabric, "hosts") == 0 && count_of(fabric, "switches") == 0) {
    return session.output.note("there is no fabric yet (railweave fabric import FILE loads one)");
  }
  print_fabric_summary(session.output, fabric);
}

void check(Session& session, const std::string& fail_on) {
  const Json answer = session.service().get(Target("/v1/fabric/findings"));
  const Json& findings = list(answer, "findings");
  if (session.output.is_document()) {
    session.output.document(answer);
  } else {
    print_findings(session.output, findings);
  }
  session.exit_code = exit_code_of_findings(findings, fail_on);
}

}  // namespace

void add_fabric_commands(CLI::App& root, Session& session) {
  CLI::App& fabric = add_noun(root, "fabric", "The fabric as a whole: import, discover, show, check, export", "Fabric");
  add_fabric_import_command(fabric, session);
  add_fabric_live_commands(fabric, session);
  add_fabric_watch_command(fabric, session);

  CLI::App& show_command = add_command(fabric, "show", "Show what the fabric consists of",
                                       {"railweave fabric show", "railweave fabric show -o json"});
  on_run(show_command, session, [&session] { show_fabric(session); });

  auto fail_on = std::make_shared<std::string>("never");
  CLI::App& check_command = add_command(fabric, "check", "Check the cabling",
                                        {"railweave fabric check", "railweave fabric check --fail-on error -o json"});
  add_fail_on_option(check_command, *fail_on);
  on_run(check_command, session, [&session, fail_on] { check(session, *fail_on); });

  add_fabric_export_command(fabric, session);
}

}  // namespace railweave::cli
