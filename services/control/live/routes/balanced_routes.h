// Routes that a quiet subnet could have instead: balanced over the links that are left, where the fullest link of routes as repaired is
// fuller; or with next hops that suit the jobs that run. They are computed and audited on a thread of its own; what comes of it is a
// report, so that the basis is durable before a switch is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/base/worker/computation.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

// What hops were chosen for.
struct FollowedJobs {
  std::size_t jobs = 0;
  bool are_too_many = false;  // JobDemands::kMaxFlows: no routes were looked for
  fabric::TrafficBalance balance;
};

struct BalancedRoutes {
  FabricRoutesPtr routes;
  std::uint64_t view_version = 0;                 // of the state that they were computed for
  std::uint64_t fullest = 0, fullest_before = 0;  // in pairs of host ports
  bool is_verified = false;
  std::size_t unproven = 0;  // entries that cannot change while packets are on their way without dropping some
  std::optional<FollowedJobs> followed;
  // 5% fuller than freshly balanced, or 5% or a link's worth dearer than with other hops, which is worth the changes; never where
  // packets would be dropped on the way.
  [[nodiscard]] bool is_worth_it() const;
};

// What is computed: from the routes wanted now, by the engine of the base.
struct BalanceInput {
  FabricRoutesPtr base;
  fabric::RoutingInput input;  // of the view that they are wanted for, or with the basis that they are to be on
  fabric::Routing now;
  std::vector<fabric::PlaneId> planes;
  std::uint64_t view_version = 0;
};
std::optional<BalancedRoutes> balanced_routes(const BalanceInput& in);
// The same with hops for the jobs placed in the state, of one subnet; jobs with guarantees keep their paths. None: there is nothing to
// change.
std::optional<BalancedRoutes> followed_routes(BalanceInput in, const ClusterState& state, fabric::SubnetId subnet);

// None: nothing came of it.
using BalanceThread = Computation<std::optional<BalancedRoutes>>;

}  // namespace railweave::control
