// railweave fabric discover|sync: long operations of the service, waited for.
#include <optional>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/connection/operation_wait.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/subnet.h"

namespace railweave::cli {
namespace {

struct DiscoverOptions {
  std::string subnet;
  bool accept = false, force = false;
  std::optional<std::uint64_t> gpus_per_node, nvlink_domain;
};

Json run_operation(Session& session, const Target& target, std::string body, const std::string& doing) {
  api::ClientRequest request;
  request.method = api::Method::post;
  request.target = target.text();
  if (!body.empty()) request.content_type = "application/json";
  request.body = std::move(body);
  session.output.say_progress(doing);
  const Answer answer = session.service().send(std::move(request));
  return wait_for_operation(session, operation_location(session, answer), [&](const Json& progress) {
    const auto total = count_of(progress, "total");
    return total < 2
               ? doing
               : fmt::format("{}, {} of {} {}", doing, text_of(progress, "done"), total, text_of(progress, "unit"));
  });
}

void discover(Session& session, const DiscoverOptions& options) {
  if (!options.accept && (options.gpus_per_node || options.nvlink_domain || options.force)) {
    fail_usage("--gpus-per-node, --nvlink-domain and --force need --accept");
  }
  Json body = Json::object();
  if (!options.subnet.empty()) body["subnet"] = options.subnet;
  if (options.accept) body["accept"] = true;
  if (options.force) body["force"] = true;
  if (options.gpus_per_node) body["gpusPerNode"] = *options.gpus_per_node;
  if (options.nvlink_domain) body["nvlinkDomain"] = *options.nvlink_domain;
  const Json result = run_operation(session, Target("/v1/fabric/discover"), compact_json(body), "discovering");
  Output& output = session.output;
  if (output.is_document()) return output.document(result);
  const auto count = count_of(result, "differenceCount");
  Json shown = result;
  shown["id"] = field(result, "subnet");
  output.text(subnet_line(shown) + "\n");
  print_differences(output, list(result, "differences"), count);
  if (flag_of(result, "accepted")) {
    const Json& fabric = field(result, "fabric");
    output.text("\naccepted: " + text_of(fabric, "hosts") + " hosts, " + text_of(fabric, "switches") + " switches, " +
                text_of(fabric, "gpus") + " GPUs\n");
  } else {
    output.text(count == 0 ? "\nno differences from the accepted topology\n"
                           : fmt::format("\n"
                                         "{} differences from the accepted topology\n",
                                         count));
  }
}

void print_sync(Session& session, const Json& sync) {
  if (!flag_of(sync, "synced")) session.exit_code = ExitCode::findings;
  Output& output = session.output;
  if (output.is_document()) return output.document(sync);
  Table table({{"SUBNET"},
               {"MODE"},
               {"PHASE"},
               {"SYNCED"},
               {"DIFFERING", Align::right},
               {"BLOCKS", Align::right},
               {"ISOLATED", Align::right},
               {"READ BACK"},
               {"PROBLEM"}});
  for (const auto& subnet : list(sync, "subnets")) {
    const bool synced = flag_of(subnet, "synced");
    table.add({text_of(subnet, "subnet"),
               text_of(subnet, "mode"),
               phase_cell(text_of(subnet, "phase")),
               {synced ? "yes" : "no", synced ? Tone::good : Tone::warning},
               text_of(subnet, "blocksDiffering"),
               text_of(subnet, "blocksWanted"),
               text_of(subnet, "isolated"),
               field(subnet, "readBackAt").is_string() ? time_of(subnet, "readBackAt") : std::string("not yet"),
               text_of(subnet, "problem")});
  }
  if (table.rows() == 0) return output.note("no live subnets");
  output.text(table.text(output.terminal()));
}

void sync(Session& session, bool now, const std::string& subnet) {
  if (now) {
    Target target("/v1/fabric/sync");
    target.filter("subnet", subnet);
    return print_sync(session, run_operation(session, target, {}, "reading tables back"));
  }
  if (!subnet.empty())
    fail_usage("--subnet needs --now", "railweave subnets show " + subnet + " shows a single subnet");
  print_sync(session, session.service().get(Target("/v1/fabric/sync")));
}

}  // namespace

void add_fabric_live_commands(CLI::App& fabric, Session& session) {
  auto options = std::make_shared<DiscoverOptions>();
  CLI::App& command = add_command(
      fabric, "discover", "Read a live subnet again and compare it with the accepted topology, or accept it",
      {"railweave fabric discover", "railweave fabric discover --subnet compute --accept --gpus-per-node 8"});
  command.add_option("--subnet", options->subnet, "Name of the subnet; may be omitted if only one is live")
      ->type_name("NAME");
  command.add_flag("--accept", options->accept, "Accept the discovered topology");
  add_number_option(command, "--gpus-per-node", options->gpus_per_node,
                    "With --accept: GPUs to add to every compute host that has none", {1, 64});
  add_number_option(command, "--nvlink-domain", options->nvlink_domain,
                    "GPUs per NVLink domain; default: --gpus-per-node", {1, 100'000});
  command.add_flag("--force", options->force, "With --accept: accept even if running jobs lose their nodes");
  on_run(command, session, [&session, options] { discover(session, *options); });

  auto now = std::make_shared<bool>(false);
  auto subnet = std::make_shared<std::string>();
  CLI::App& sync_command =
      add_command(fabric, "sync", "Show whether applied tables equal wanted ones; exit code 10 unless they do",
                  {"railweave fabric sync", "railweave fabric sync --now --subnet compute"});
  sync_command.add_flag("--now", *now, "Read all tables back first, and write what differs if the mode allows it");
  sync_command.add_option("--subnet", *subnet, "With --now: only this subnet")->type_name("NAME");
  on_run(sync_command, session, [&session, now, subnet] { sync(session, *now, *subnet); });
}

}  // namespace railweave::cli
