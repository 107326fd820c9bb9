// What draining something would do, before anyone asks for it: the fabric is rerouted with the drain marked, the new
// tables are audited, and what then hangs on nothing is counted. Pure.
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
  bool on_it = false;     // of a node's drain: it runs there, and the drain waits for it
  bool cut_off = false;   // an adapter port of one of its nodes is cut off
  bool rerouted = false;  // packets between two of its nodes would take another way
};

struct DrainPreview {
  DrainTarget target;
  std::uint64_t view_version = 0;  // of the state that was looked at

  // End ports (adapter ports of nodes and routers) that could reach another one before, and once this is unplugged
  // either have no usable cable left or are no longer joined to the largest part of the others. What is drained already
  // counts as unplugged.
  std::vector<fabric::PortId> cut_off;
  std::vector<AffectedJob> jobs;  // by id

  // Of the tables: absent for nodes, whose drains change none.
  struct Tables {
    std::uint64_t changed_entries = 0, changed_switches = 0;
    std::uint64_t max_link_load_before = 0, max_link_load_after = 0;  // AuditReport::max_link_load
    bool sound = true;                                                // AuditReport::verified() afterwards
  };
  std::optional<Tables> tables;
  // Of the links between two tiers of one network, by rate: the share of what is cabled that carries transit
  // afterwards, where it is least. 1: there are no such links.
  double residual_capacity = 1;

  struct LostGuarantee {
    JobId job;
    std::string tenant, qos_class, reason;
    std::vector<std::string> links;
  };
  std::vector<LostGuarantee> guarantees_at_risk;  // that hold now and would not then, by job

  std::vector<std::string> objections;  // why it is refused unless forced
  [[nodiscard]] bool safe() const { return objections.empty(); }
};

// `before`: the routes of the state. Errors: the engine cannot route what is left.
Result<DrainPreview> preview_drain(const ClusterState& state, const FabricRoutes& before, const DrainTarget& target);

// Of a node, or of any drain while there are no routes: who runs there, and nothing else.
DrainPreview preview_node_drain(const ClusterState& state, const DrainTarget& target);

// Sets guarantees_at_risk. Leaves the book at what would be.
void preview_guarantees(const ClusterState& state, GuaranteeBook& book, DrainPreview& preview);

}  // namespace railweave::control
