// railweave lab fabric: summarizes and checks a fabric file.
#include <cstdio>

#include "fabric/topology/checks/checks.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/site/fabric_report.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {
namespace {

void run(Session& session, const FabricFileOptions& options, const std::string& fail_on) {
  Output& output = session.output;
  const FabricFile file = read_fabric_file(options);
  const auto findings = fabric::check_fabric(*file.topology);
  const Json answer = fabric_report(fabric::summarize(*file.topology), findings, file.read_ms);
  session.exit_code = exit_code_of_findings(list(answer, "findings"), fail_on);
  if (output.is_document()) return output.document(answer);
  print_fabric_summary(output, answer);
  char read[48];
  std::snprintf(read, sizeof read, "\nRead in %.1f ms.\n\n", file.read_ms);
  output.text(read);
  print_findings(output, list(answer, "findings"));
}

}  // namespace

void add_lab_fabric_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<FabricFileOptions>();
  auto fail_on = std::make_shared<std::string>("never");
  CLI::App& command =
      add_command(lab, "fabric", "Summarize a fabric file and check its cabling",
                  {"railweave lab fabric dump.ibnetdiscover", "ibnetdiscover | railweave lab fabric - -o json",
                   "railweave lab fabric dump.ibnetdiscover --fail-on error"});
  add_fabric_file_options(command, *options);
  add_fail_on_option(command, *fail_on);
  on_run(command, session, [&session, options, fail_on] { run(session, *options, *fail_on); });
}

}  // namespace railweave::cli
