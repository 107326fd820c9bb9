// railweave fabric watch: the state of the live subnets, then events of the fabric as they occur.
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/printable.h"
#include "services/railweave/views/event_line.h"
#include "services/railweave/views/subnet.h"

namespace railweave::cli {
namespace {

constexpr const char* kFabricEvents[] = {"link.down",      "link.up",          "link.changed",   "route.programmed",
                                         "qos.programmed", "qos.offered",      "subnet.modeSet", "drain.requested",
                                         "drain.advanced", "drain.completed",  "drain.cleared",  "alarm.raised",
                                         "alarm.cleared",  "topology.accepted"};

void watch(Session& session) {
  Output& output = session.output;
  std::vector<Json> subnets;
  const auto end = session.service().each_item(
      Target("/v1/subnets"), 0,
      [&](const Json& subnet) {
        if (field(subnet, "live").is_object()) subnets.push_back(subnet);
      },
      [&] { subnets.clear(); });
  if (subnets.empty()) output.note("no live subnets");
  for (const auto& subnet : subnets) {
    if (output.is_document()) {
      output.line_document(subnet);
    } else {
      output.text(printable(subnet_line(subnet)) + "\n");
    }
  }
  output.flush();
  Target target("/v1/events/stream");
  for (const char* type : kFabricEvents) target.query("type", type);
  follow_events(session, target, std::to_string(end.seq));
}

}  // namespace

void add_fabric_watch_command(CLI::App& fabric, Session& session) {
  CLI::App& command = add_command(
      fabric, "watch", "Show the state of the live subnets, then a line for every event of the fabric, until Ctrl-C",
      {"railweave fabric watch", "railweave fabric watch -o json"});
  on_run(command, session, [&session] { watch(session); });
}

}  // namespace railweave::cli
