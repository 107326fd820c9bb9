// railweave guarantees caps|partition: what a guaranteed job is limited to, and what isolates it.
#include <map>
#include <set>
#include <utility>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

// The commands to run on one node; they are only printed.
void print_caps_of_node(Output& output, const Json& answer, const std::string& name) {
  for (const Json& node : list(answer, "items")) {
    if (text_of(node, "node") != name) continue;
    for (const Json& port : list(node, "ports")) {
      std::string text = "# " + name + " " + text_of(port, "device") + ": " + text_of(port, "guaranteedGbps") +
                         " Gb/s guaranteed, maximum " + text_of(port, "maxGbps") +
                         "\n# a queue pair: " + text_of(field(port, "queuePair"), "rateLimitKbps") +
                         " kb/s\n# a virtual function:\n";
      for (const Json& line : list(port, "virtualFunction")) text += text_of(line) + "\n";
      text += "# or the host's own stack:\n";
      for (const Json& line : list(port, "tc")) text += text_of(line) + "\n";
      output.text(text);
    }
    return;
  }
  throw CommandFailure(ExitCode::not_found, {ErrorKind::notFound,
                                             "cli.noNode",
                                             "the job has no rank on node '" + name + "'",
                                             {},
                                             "omit --node to list its nodes"});
}

void print_caps(Session& session, const std::string& job, const std::string& only_node) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/jobs").segment(job).path("/caps"));
  if (output.is_document()) return output.document(answer);
  if (!only_node.empty()) return print_caps_of_node(output, answer, only_node);
  Table table({{"NODE"}, {"ADAPTERS"}, {"GUARANTEED", Align::right}, {"MAXIMUM", Align::right}});
  std::set<std::pair<std::string, std::string>> means_used;
  for (const Json& node : list(answer, "items")) {
    // Adapters of a node mostly have equal rates: one line for each pair of rates.
    std::map<std::pair<std::string, std::string>, std::string> by_rates;
    for (const Json& port : list(node, "ports")) {
      std::string& devices = by_rates[{text_of(port, "guaranteedGbps"), text_of(port, "maxGbps")}];
      devices += (devices.empty() ? "" : " ") + text_of(port, "device");
      for (const Json& means : list(port, "enforcement")) {
        means_used.emplace(text_of(means, "strength"), text_of(means, "statement"));
      }
    }
    for (const auto& [rates, devices] : by_rates) {
      table.add({text_of(node, "node"), devices, rates.first + " Gb/s", rates.second + " Gb/s"});
    }
  }
  output.text(table.text(output.terminal()));
  Sheet sheet;
  for (const auto& [strength, statement] : means_used) sheet.add("By " + strength, statement);
  output.text("\n" + sheet.text(output.terminal()));
  output.note("railweave guarantees caps " + job + " --node NODE prints the commands that set them");
}

void print_partition(Session& session, const std::string& job) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/jobs").segment(job).path("/partition"));
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Job", text_of(answer, "job"));
  sheet.add("Tenant", text_of(answer, "tenant"));
  sheet.add("PKey", text_of(answer, "pkey"));
  for (const Json& item : list(answer, "items")) {
    sheet.add("NVLink domain", text_of(item, "domain") + ", partition " + text_of(item, "number") + ", " +
                                   std::to_string(list(item, "gpus").size()) + " GPUs on " +
                                   joined(list(item, "imexNodes"), 8));
  }
  output.text(sheet.text(output.terminal()));
}

}  // namespace

void add_guarantee_caps_commands(CLI::App& guarantees, Session& session) {
  struct CapsOptions {
    std::string job, node;
  };
  auto options = std::make_shared<CapsOptions>();
  CLI::App& caps_command =
      add_command(guarantees, "caps", "Show the rate limits of a job's adapter ports, and how to set them",
                  {"railweave guarantees caps job-000123", "railweave guarantees caps job-000123 --node dgx-017"});
  caps_command.add_option("JOB", options->job, "Its id")->required();
  caps_command.add_option("--node", options->node, "Print the commands that set the limits on this node; none is run")
      ->type_name("NODE");
  on_run(caps_command, session, [&session, options] { print_caps(session, options->job, options->node); });

  auto job = std::make_shared<std::string>();
  CLI::App& partition_command =
      add_command(guarantees, "partition", "Show a job's partitions of NVLink domains, and its PKey",
                  {"railweave guarantees partition job-000123"});
  partition_command.add_option("JOB", *job, "Its id")->required();
  on_run(partition_command, session, [&session, job] { print_partition(session, *job); });
}

}  // namespace railweave::cli
