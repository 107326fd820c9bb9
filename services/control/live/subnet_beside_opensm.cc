// SubnetController in opensm mode. OpenSM is the subnet manager, with our engine inside; what it programs is what we
// want, and where a link fails we write the same entries before its sweep comes to it. Where its tables are not ours,
// we write nothing: OpenSM wins.
#include <algorithm>
#include <utility>

#include "services/control/live/subnet_controller.h"
#include "services/control/live/table_reading.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

// LIDs are OpenSM's. Where they are not those of the accepted topology, tables cannot be compared, let alone written.
std::string SubnetController::other_lids() const {
  const RoutingScope& scope = base_->scope();
  const Topology& t = scope.topology();
  for (const DestinationId id : scope.destinations()) {
    const Destination& destination = scope.destination(id);
    if (!destination.port || destination.lid_offset != 0) continue;
    if (t.subnet(destination.home) != links_.subnet()) continue;
    const Lid lid = driver_->read_lid(t.guid(t.hca_of(destination.port)), t.number(destination.port));
    if (lid == 0 || lid == scope.lid(id)) continue;
    return "port " + t.port_text(destination.port) + " has LID " + std::to_string(lid) + ", not " +
           std::to_string(scope.lid(id)) +
           " as in the accepted topology: accept what was discovered (railweave fabric discover --accept)";
  }
  return {};
}

bool SubnetController::compare_with_opensm() {
  std::string why = other_lids();
  const std::uint64_t differing =
      why.empty() ? differing_blocks(applied_->tables, wanted_->tables, links_.switches()) : 0;
  if (differing != 0) {
    why = "OpenSM's tables differ from ours in " + std::to_string(differing) +
          " blocks, and stay: is its routing engine railweave, and has it seen the same drains?";
  }
  matches_opensm_ = why.empty();
  status_.blocks_differing = differing;
  status_.problem = why;
  status_.phase = matches_opensm_ ? SubnetPhase::synced : SubnetPhase::programming;
  status_.applied_digest = digest_of(*applied_);
  status_.applied = std::make_shared<const Routing>(*applied_);
  alarms_.set_subnet("sync.mismatch", AlarmSeverity::critical,
                     why.empty() ? "" : "subnet " + options_.subnet + ": " + why);
  return matches_opensm_;
}

// Blocks hold LIDs that we do not route, switches' own among them: these entries stay as they were read.
void SubnetController::keep_foreign_entries(ForwardingDelta& delta) const {
  const RoutingScope& scope = base_->scope();
  std::vector<bool> ours;
  for (const DestinationId id : scope.destinations()) {
    const Lid lid = scope.lid(id);
    if (lid >= ours.size()) ours.resize(lid + std::size_t{1}, false);
    ours[lid] = true;
  }
  for (LftBlock& block : delta.blocks) {
    const auto raw = raw_.find(block.sw);
    if (raw == raw_.end()) continue;
    for (std::size_t i = 0; i < kLidsPerBlock; ++i) {
      const std::size_t lid = block.number * kLidsPerBlock + i;
      if ((lid >= ours.size() || !ours[lid]) && lid < raw->second.size()) block.ports[i] = raw->second[lid];
    }
  }
}

// When OpenSM has settled: are its tables ours, as they should be, both being made by one engine?
void SubnetController::check_opensm(const ClusterState& state) {
  bool settled = false;
  bool there = false;
  std::string refusal;
  {
    const std::lock_guard lock(mutex_);
    settled = std::exchange(opensm_settled_, false);
    there = opensm_is_there_;
    refusal = opensm_refusal_;
  }
  alarms_.set_subnet("opensm.absent", AlarmSeverity::critical,
                     there ? "" : "OpenSM's plugin of subnet " + options_.subnet + " is not connected");
  alarms_.set_subnet("opensm.refused", AlarmSeverity::critical,
                     refusal.empty() ? "" : "OpenSM's plugin of subnet " + options_.subnet + " refused: " + refusal);
  const bool due = !matches_opensm_ && now() - read_back_at_us_ > options_.sweep_every.count() * 1000;
  if (!settled && !due) return;
  if (!read_back(links_.switches())) return;
  read_back_at_us_ = now();
  status_.read_back_us = with_.unix_us();
  if (compare_with_opensm()) applied_ = *wanted_;
  advance_drains(state);
  publish();
}

}  // namespace railweave::control
