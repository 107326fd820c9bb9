// Computes and caches the routes of states: computed at the first request, rerouted if only link states, drains or
// costs changed, audited once. Shared by the control thread, live subnets and API workers. Thread-safe; a request that
// arrives during a computation waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/failure_coverage.h"

namespace railweave::control {

// The routes of one view. Immutable except for the audit and the failure coverage, which are computed at first use.
// Thread-safe.
class FabricRoutes {
 public:
  FabricRoutes(fabric::RoutingInput in, fabric::EngineChoice chosen, fabric::Routing made)
      : input(std::move(in)), choice(std::move(chosen)), routing(std::move(made)) {}

  const fabric::RoutingInput input;
  const fabric::EngineChoice choice;
  const fabric::Routing routing;

  [[nodiscard]] const fabric::RoutingScope& scope() const { return *input.scope; }
  // before: routes of the same topology; planes that did not change are not audited again. Null: all planes are.
  [[nodiscard]] const fabric::AuditReport& audit(const FabricRoutes* before = nullptr) const;
  [[nodiscard]] FailureCoverage& failures() const { return failures_; }

 private:
  mutable std::once_flag audited_;
  mutable fabric::PlaneReports planes_;
  mutable fabric::AuditReport report_;
  mutable FailureCoverage failures_;
};
using FabricRoutesPtr = std::shared_ptr<const FabricRoutes>;

// The routes for another view of the same topology: a what-if.
Result<FabricRoutesPtr> reroute(const FabricRoutes& before, fabric::FabricView view);

class RoutingCache {
 public:
  // switch_management: the switches' own LIDs are routed as well, for in-band management.
  explicit RoutingCache(bool switch_management = true) : switch_management_(switch_management) {}

  // Errors: the fabric cannot be routed (more than RoutingScope::kMaxDestinations), or none is imported yet.
  Result<FabricRoutesPtr> at(const ClusterState& state);
  // Routes of any view of an imported topology.
  Result<FabricRoutesPtr> on(const fabric::FabricView& view);

  // Number of routes that are kept, so that a flapping link and readers of an older state find what was computed
  // before.
  static constexpr std::size_t kKept = 4;

 private:
  [[nodiscard]] Result<FabricRoutesPtr> route_whole(const fabric::FabricView& view) const;

  const bool switch_management_;
  std::mutex mutex_;
  std::vector<FabricRoutesPtr> kept_;  // the latest first
};

}  // namespace railweave::control
