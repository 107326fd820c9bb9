// The routes of states. wanted() are those that Railweave computes: at the first request, rerouted if only link states,
// drains or costs changed. at() are those in force: the same, but for subnets whose switches were seen to hold other
// tables (ClusterState::subnet_tables), which have those. Shared by the control thread, live subnets and API workers.
// Thread-safe; a request that arrives during a computation waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "services/control/state/route_basis.h"
#include "services/control/views/failure_coverage.h"
#include "services/control/views/seen_tables.h"

namespace railweave::control {

struct ClusterState;

// The engine that was taken for the fabric's one subnet, without when. None where it has several: an engine routes all of them.
TakenEngine taken_engine(const ClusterState& state);

// The routes of one view. Immutable except for the audit and the failure coverage, which are computed at first use.
// Thread-safe.
class FabricRoutes;
using FabricRoutesPtr = std::shared_ptr<const FabricRoutes>;

class FabricRoutes {
 public:
  FabricRoutes(fabric::RoutingInput in, fabric::EngineChoice chosen, fabric::Routing made, TakenEngine by = {})
      : input(std::move(in)), choice(std::move(chosen)), routing(std::move(made)), taken(std::move(by)) {}
  // Routes in force: those wanted, but for planes that were seen to have others.
  FabricRoutes(FabricRoutesPtr wanted, std::vector<SeenTablesPtr> seen);

  const fabric::RoutingInput input;
  const fabric::EngineChoice choice;
  const fabric::Routing routing;
  const TakenEngine taken;  // what was asked for; another engine made them where that one cannot

  [[nodiscard]] const fabric::RoutingScope& scope() const { return *input.scope; }
  // before: routes of the same topology; planes that did not change are not audited again. Null: all planes are.
  [[nodiscard]] const fabric::AuditReport& audit(const FabricRoutes* before = nullptr) const;
  [[nodiscard]] FailureCoverage& failures() const { return failures_; }

  // The plane's tables are not Railweave's: what they would be after a failure or a drain is not known, nor which service
  // levels its subnet manager gives to paths.
  [[nodiscard]] bool is_seen(fabric::PlaneId plane) const { return subnet_seen(plane) != nullptr; }
  [[nodiscard]] const std::string* subnet_seen(fabric::PlaneId plane) const;
  [[nodiscard]] const std::vector<SeenTablesPtr>& seen() const { return seen_; }
  // What Railweave's engine computes for the same view; itself where nothing else was seen.
  [[nodiscard]] const FabricRoutes& wanted() const { return wanted_ ? *wanted_ : *this; }

 private:
  const FabricRoutesPtr wanted_;  // null: these are
  const std::vector<SeenTablesPtr> seen_;
  mutable std::once_flag audited_;
  mutable fabric::PlaneReports planes_;
  mutable fabric::AuditReport report_;
  mutable FailureCoverage failures_;
};

// What Railweave computes for another view of the same topology: a what-if.
Result<FabricRoutesPtr> reroute(const FabricRoutes& before, fabric::FabricView view);

class RoutingCache {
 public:
  // switch_management: the switches' own LIDs are routed as well, for in-band management.
  explicit RoutingCache(bool switch_management = true) : switch_management_(switch_management) {}

  // Routes are computed by this engine, on at most that number of lanes, instead of the one that suits the fabric's shape or was
  // taken; the one that suits still routes what it cannot. Called before anything is asked for.
  void prefer(const fabric::RoutingEngine* engine, unsigned max_lanes) { preferred_ = {engine, max_lanes}; }

  // In force. Errors: the fabric cannot be routed (more than RoutingScope::kMaxDestinations), or none is imported yet.
  Result<FabricRoutesPtr> at(const ClusterState& state);
  // As Railweave wants them. Errors: the same.
  Result<FabricRoutesPtr> wanted(const ClusterState& state);
  // The same, of any view of an imported topology, by the engine that was taken; where it cannot, by the one that suits the shape.
  Result<FabricRoutesPtr> on(const fabric::FabricView& view, const TakenEngine& taken = {});
  // Routes of a view that will be asked for, computed where there is time for it.
  void keep(FabricRoutesPtr routes);
  // What live subnets have seen.
  [[nodiscard]] SeenTablesBoard& seen() { return seen_; }

  // Number of routes that are kept, so that a flapping link and readers of an older state find what was computed
  // before.
  static constexpr std::size_t kKept = 4;

 private:
  [[nodiscard]] Result<FabricRoutesPtr> make(const fabric::FabricView& view, const TakenEngine& taken) const;
  [[nodiscard]] Result<FabricRoutesPtr> route_whole(const fabric::FabricView& view, const TakenEngine& taken) const;

  [[nodiscard]] std::vector<SeenTablesPtr> seen_in(const ClusterState& state, const fabric::RoutingScope& scope) const;

  struct Preferred {
    const fabric::RoutingEngine* engine = nullptr;  // null: none
    unsigned max_lanes = 0;
  };
  const bool switch_management_;
  Preferred preferred_;
  SeenTablesBoard seen_;
  std::mutex mutex_;
  std::vector<FabricRoutesPtr> kept_;  // the latest first
  std::mutex in_force_mutex_;
  std::vector<FabricRoutesPtr> in_force_;  // with tables that were seen; the latest first
};

}  // namespace railweave::control
