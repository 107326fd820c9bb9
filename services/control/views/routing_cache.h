// The routes of whatever state is asked about: computed when first asked for, rerouted where only link states or drains
// changed, and audited once. Thread-safe; who asks while another computes waits for that.
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

// Immutable but for the audit and what failures would do, which are made when first asked for.
class FabricRoutes {
 public:
  FabricRoutes(fabric::RoutingInput in, fabric::EngineChoice chosen, fabric::Routing made)
      : input(std::move(in)), choice(std::move(chosen)), routing(std::move(made)) {}

  const fabric::RoutingInput input;
  const fabric::EngineChoice choice;
  const fabric::Routing routing;

  [[nodiscard]] const fabric::RoutingScope& scope() const { return *input.scope; }
  // before: audited routes of the same topology, or none: planes that are alike are not looked at again.
  [[nodiscard]] const fabric::AuditReport& audit(const FabricRoutes* before = nullptr) const;
  [[nodiscard]] FailureCoverage& failures() const { return failures_; }

 private:
  mutable std::once_flag audited_;
  mutable fabric::PlaneReports planes_;
  mutable fabric::AuditReport report_;
  mutable FailureCoverage failures_;
};
using FabricRoutesPtr = std::shared_ptr<const FabricRoutes>;

// As `before`, with another view of the same topology: what it would be like if.
Result<FabricRoutesPtr> reroute(const FabricRoutes& before, fabric::FabricView view);

class RoutingCache {
 public:
  // Whether switches' own LIDs are routed as well, for their management in band.
  explicit RoutingCache(bool switch_management = true) : switch_management_(switch_management) {}

  // Errors: fabrics that cannot be routed (more than RoutingScope::kMaxDestinations), or none was imported yet.
  Result<FabricRoutesPtr> at(const ClusterState& state);
  // Of any view of a topology that was imported.
  Result<FabricRoutesPtr> on(const fabric::FabricView& view);

  // The last few are kept: a link that flaps, and readers of a state that is not the newest any more, find what was
  // computed before.
  static constexpr std::size_t kKept = 4;

 private:
  [[nodiscard]] Result<FabricRoutesPtr> route_whole(const fabric::FabricView& view) const;

  const bool switch_management_;
  std::mutex mutex_;
  std::vector<FabricRoutesPtr> kept_;  // the latest first
};

}  // namespace railweave::control
