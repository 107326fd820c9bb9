// railweave jobs ports: whether the network is set up for a job.
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

void print_ports(Session& session, const std::string& id) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/jobs").segment(id).path("/ports"));
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  const bool ready = flag_of(answer, "ready");
  sheet.add("Ready", {ready ? "yes" : "no", ready ? Tone::good : Tone::warning});
  for (const Json& subnet : list(answer, "subnets")) {
    const bool is_written = field(subnet, "plannedSeq").is_number();
    std::string text = text_of(subnet, "ports") + " ports, ";
    text += is_written ? text_of(subnet, "portsPending") + " without their tables" : "not written by Railweave";
    if (!text_of(subnet, "problem").empty()) text += "; " + text_of(subnet, "problem");
    sheet.add("Subnet " + text_of(subnet, "subnet"), text);
  }
  output.text(sheet.text(output.terminal()));
  if (list(answer, "pending").empty()) return;
  Table table({{"PORT"}, {"DEVICE"}, {"REASON"}});
  for (const Json& port : list(answer, "pending"))
    table.add({text_of(port, "port"), text_of(port, "device"), text_of(port, "reason")});
  output.text("\n" + table.text(output.terminal()));
}

}  // namespace

void add_job_ports_command(CLI::App& jobs, Session& session) {
  auto id = std::make_shared<std::string>();
  CLI::App& command = add_command(jobs, "ports", "Show which ports of a job do not have its class and keys yet",
                                  {"railweave jobs ports job-000123", "railweave jobs ports job-000123 -o json"});
  command.add_option("JOB", *id, kJobMeaning)->required();
  on_run(command, session, [&session, id] { print_ports(session, job_id_of(session, *id)); });
}

}  // namespace railweave::cli
