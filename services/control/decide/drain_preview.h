// The effect of a drain before it is requested: the fabric is rerouted with the drain marked, the new tables are
// audited, and the ports that would be cut off, the affected jobs and guarantees are listed. Used by the API. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct AffectedJob {
  JobId id;
  std::string name, tenant;
  bool on_it = false;     // drain of a node: the job runs there, and the drain waits for it
  bool cut_off = false;   // an adapter port of one of its nodes is cut off
  bool rerouted = false;  // packets between two of its nodes, or sites, would take another route
};

struct DrainPreview {
  DrainTarget target;
  std::uint64_t view_version = 0;  // ClusterState::view_version of the previewed state

  // End ports (adapter ports of nodes and routers) that can reach another end port now, but with the target unplugged
  // have no usable cable or cannot reach the largest part of the others. Anything already drained counts as unplugged.
  std::vector<fabric::PortId> cut_off;
  std::vector<AffectedJob> jobs;  // ascending by id

  // Effect on forwarding tables; absent for nodes and links between sites, whose drains change none.
  struct Tables {
    std::uint64_t changed_entries = 0, changed_switches = 0;
    std::uint64_t max_link_load_before = 0, max_link_load_after = 0;  // AuditReport::max_link_load
    bool verified = true;                                             // the audit of the new tables found no fault
  };
  std::optional<Tables> tables;
  // Share of the cabled rate between two tiers of one network that still carries transit traffic afterwards; the
  // smallest over all pairs of tiers. 1: there are no such links.
  double residual_capacity = 1;

  struct LostGuarantee {
    JobId job;
    std::string tenant, qos_class;
    Message reason;
    std::vector<std::string> links;
  };
  std::vector<LostGuarantee> guarantees_at_risk;  // hold now and would be at risk; by job

  std::vector<std::string> objections;  // reasons why the drain is refused unless forced
  [[nodiscard]] bool safe() const { return objections.empty(); }
};

// `before`: the routes of the state. Errors: the engine cannot route the remaining fabric.
Result<DrainPreview> preview_drain(const ClusterState& state, const FabricRoutes& before, const DrainTarget& target);

// Preview of a node's or GPU's drain, or of any drain while there are no routes: only the jobs that run there.
DrainPreview preview_node_drain(const ClusterState& state, const DrainTarget& target);

// Preview of the drain of a link between sites: the jobs across it.
DrainPreview preview_site_link_drain(const ClusterState& state, const DrainTarget& target);

// Sets guarantees_at_risk. Leaves the book at the hypothetical state.
void preview_guarantees(const ClusterState& state, GuaranteeBook& book, DrainPreview& preview);

}  // namespace railweave::control
