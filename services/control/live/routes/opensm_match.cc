#include "services/control/live/routes/opensm_match.h"

#include <memory>
#include <string>
#include <utility>

#include "services/control/live/routes/table_reading.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

// LIDs are OpenSM's. Where they are not those of the accepted topology, tables cannot be compared, let alone written.
std::string OpensmMatch::find_other_lid(const RoutingScope& scope) const {
  const Topology& t = scope.topology();
  for (const DestinationId id : scope.destinations()) {
    const Destination& destination = scope.destination(id);
    if (!destination.port || destination.lid_offset != 0) continue;
    if (t.subnet(destination.home) != links_.subnet()) continue;
    const Lid lid = context_.driver().read_lid(t.guid(t.hca_of(destination.port)), t.number(destination.port));
    if (lid == 0 || lid == scope.lid(id)) continue;
    return "port " + t.port_text(destination.port) + " has LID " + std::to_string(lid) + ", not " +
           std::to_string(scope.lid(id)) +
           " as in the accepted topology: accept what was discovered (railweave fabric discover --accept)";
  }
  return {};
}

bool OpensmMatch::compare(const Routing& applied, const Routing& wanted) {
  std::string problem = find_other_lid(wanted.tables.scope());
  const std::uint64_t differing =
      problem.empty() ? differing_blocks(applied.tables, wanted.tables, links_.switches()) : 0;
  if (differing != 0) {
    problem =
        "OpenSM's tables differ from Railweave's in " + std::to_string(differing) +
        " blocks and are not changed: check that its routing engine is railweave and that it knows the same drains";
  }
  matches_ = problem.empty();
  SubnetStatus& status = context_.status();
  status.blocks_differing = differing;
  status.problem = problem;
  status.applied_digest = digest_of(applied, links_.switches());
  status.applied = std::make_shared<const Routing>(applied);
  context_.alarms().set_subnet("sync.mismatch", AlarmSeverity::critical,
                               matches_ ? "" : context_.name() + ": " + problem);
  return matches_;
}

void OpensmMatch::keep(std::vector<TableReading> readings) {
  for (TableReading& reading : readings) {
    if (reading.answered) read_[reading.sw] = std::move(reading.ports);
  }
}

void OpensmMatch::restore_foreign_entries(ForwardingDelta& delta, const RoutingScope& scope) const {
  std::vector<bool> ours;
  for (const DestinationId id : scope.destinations()) {
    const Lid lid = scope.lid(id);
    if (lid >= ours.size()) ours.resize(lid + std::size_t{1}, false);
    ours[lid] = true;
  }
  for (LftBlock& block : delta.blocks) {
    const auto read = read_.find(block.sw);
    if (read == read_.end()) continue;
    for (std::size_t i = 0; i < kLidsPerBlock; ++i) {
      const std::size_t lid = block.number * kLidsPerBlock + i;
      if ((lid >= ours.size() || !ours[lid]) && lid < read->second.size()) block.ports[i] = read->second[lid];
    }
  }
}

void OpensmMatch::raise_alarms(const SubnetInbox::OpensmNews& news) const {
  const std::string plugin = "OpenSM's plugin of " + context_.name();
  context_.alarms().set_subnet("opensm.absent", AlarmSeverity::critical,
                               news.is_connected ? "" : plugin + " is not connected");
  context_.alarms().set_subnet("opensm.refused", AlarmSeverity::critical,
                               news.refusal.empty() ? "" : plugin + " refused: " + news.refusal);
}

}  // namespace railweave::control
