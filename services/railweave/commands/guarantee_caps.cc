// railweave guarantees caps|partition: what a guaranteed job is limited to, and what isolates it.
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

std::string most_of(const Json& port) {
  return field(port, "maxGbps").is_number() ? text_of(port, "maxGbps") + " Gb/s" : std::string("none");
}

// The commands to run on one node; they are only printed.
void print_caps_of_node(Output& output, const Json& answer, const std::string& name) {
  for (const Json& node : list(answer, "items")) {
    if (text_of(node, "node") != name) continue;
    for (const Json& port : list(node, "ports")) {
      std::string text = "# " + name + " " + text_of(port, "device") + ": " + text_of(port, "guaranteedGbps") +
                         " Gb/s guaranteed, maximum " + most_of(port) + "\n";
      if (!field(port, "queuePair").is_object() && list(port, "virtualFunction").empty() && list(port, "tc").empty()) {
        text += "# nothing to set: InfiniBand adapters limit queue pairs, and the contract has no maximum\n";
      }
      if (field(port, "queuePair").is_object()) {
        text += "# a queue pair: " + text_of(field(port, "queuePair"), "rateLimitKbps") + " kb/s\n";
      }
      const auto add = [&](const char* remark, FieldName commands) {
        if (list(port, commands).empty()) return;
        text += remark;
        for (const Json& line : list(port, commands)) text += text_of(line) + "\n";
      };
      add("# a virtual function:\n", "virtualFunction");
      add("# or the host's own stack, which RDMA bypasses:\n", "tc");
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
      std::string& devices = by_rates[{text_of(port, "guaranteedGbps"), most_of(port)}];
      devices += (devices.empty() ? "" : " ") + text_of(port, "device");
      for (const Json& means : list(port, "enforcement")) {
        means_used.emplace(text_of(means, "strength"), text_of(means, "statement"));
      }
    }
    for (const auto& [rates, devices] : by_rates) {
      table.add({text_of(node, "node"), devices, rates.first + " Gb/s", rates.second});
    }
  }
  output.text(table.text(output.terminal()));
  Sheet sheet;
  for (const auto& [strength, statement] : means_used) sheet.add("By " + strength, statement);
  output.text("\n" + sheet.text(output.terminal()));
  output.note("railweave guarantees caps " + job + " --node NODE prints the commands that set them");
}

void print_partition(Session& session, const std::string& job, bool allow_shared) {
  Output& output = session.output;
  const Json answer = session.service().get(
      Target("/v1/jobs").segment(job).path("/partition").query("allowShared", allow_shared ? "true" : "false"));
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Job", text_of(answer, "job"));
  sheet.add("Tenant", text_of(answer, "tenant"));
  sheet.add("PKey", text_of(answer, "pkey"));
  std::map<std::pair<std::string, bool>, std::size_t> nodes_at;  // by index and isolation
  for (const Json& node : list(answer, "nodes")) {
    const Json& index = field(node, "pkeyIndex");
    ++nodes_at[{index.is_number() ? index.dump() : std::string(), field(node, "isolated") == Json(true)}];
  }
  for (const auto& [at, nodes] : nodes_at) {
    const bool has_index = !at.first.empty();
    sheet.add("Nodes",
              fmt::format("{}{}{}", nodes, has_index ? " with the key at index " + at.first : " without the key",
                          at.second ? ", isolated from the default partition" : ""));
  }
  for (const Json& item : list(answer, "items")) {
    std::string text = fmt::format("{}, partition {}, {} GPUs", text_of(item, "domain"), text_of(item, "number"),
                                   list(item, "gpus").size());
    const Json& shared = list(item, "sharedWith");
    text += shared.empty()
                ? " on " + joined(list(item, "imexNodes"), 8)
                : "; no IMEX list: its nodes also run jobs of " + joined(shared, 8) + " (--allow-shared gives it)";
    sheet.add("NVLink domain", text);
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
  caps_command.add_option("JOB", options->job, kJobMeaning)->required();
  caps_command.add_option("--node", options->node, "Print the commands that set the limits on this node; none is run")
      ->type_name("NODE");
  on_run(caps_command, session,
         [&session, options] { print_caps(session, job_id_of(session, options->job), options->node); });

  auto job = std::make_shared<std::string>();
  CLI::App& partition_command =
      add_command(guarantees, "partition", "Show a job's partitions of NVLink domains, and its PKey",
                  {"railweave guarantees partition job-000123"});
  partition_command.add_option("JOB", *job, kJobMeaning)->required();
  auto allow = std::make_shared<bool>(false);
  partition_command.add_flag("--allow-shared", *allow,
                             "Give IMEX lists of nodes where other tenants' jobs run: these tenants can then open each "
                             "other's memory");
  on_run(partition_command, session,
         [&session, job, allow] { print_partition(session, job_id_of(session, *job), *allow); });
}

}  // namespace railweave::cli
