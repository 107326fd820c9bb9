// When a subnet's routes are to be spread again: where the fullest link of routes as repaired is fuller than that of routes
// balanced over the links that are left. Both are computed and audited on a thread of its own; what comes of it is a
// report, so that the basis is durable before a switch is written.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct BalancedRoutes {
  FabricRoutesPtr routes;
  std::uint64_t view_version = 0;                 // of the state that they were computed for
  std::uint64_t fullest = 0, fullest_before = 0;  // in pairs of host ports
  bool is_verified = false;
  // 5% fuller than freshly balanced, which is worth the changes.
  [[nodiscard]] bool is_worth_it() const { return is_verified && fullest_before * 20 > fullest * 21; }
};

// One computation at a time. Used by one thread; the destructor waits for a running one.
class FreshBalance {
 public:
  // deferred: computed in take().
  explicit FreshBalance(std::launch policy) : policy_(policy) {}

  [[nodiscard]] bool is_running() const { return running_.valid(); }
  // base: whose engine computes; now: the routes wanted for `input` but without the basis that it has.
  void start(FabricRoutesPtr base, fabric::RoutingInput input, fabric::Routing now, std::vector<fabric::PlaneId> planes,
             std::uint64_t view_version);
  // None: not finished, or nothing came of it.
  std::optional<BalancedRoutes> take();

 private:
  const std::launch policy_;
  std::future<std::optional<BalancedRoutes>> running_;
};

}  // namespace railweave::control
