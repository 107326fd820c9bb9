// Routing for a subnet manager: from what it sees of the subnet and the policy to audited tables. As `railweave lab
// route`, but it remembers the cabling, and the last routing, from which it reroutes. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/drivers/opensm/protocol/routing_policy.h"
#include "fabric/drivers/opensm/routing/cabling.h"
#include "fabric/drivers/opensm/routing/switch_lid_routes.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric::opensm {

struct RouterLimits {
  unsigned max_lanes = 8;         // that every port has
  bool lanes_can_be_set = false;  // more than one lane may be used
};

struct RoutedSubnet {
  std::shared_ptr<const Routing> routing;
  std::shared_ptr<const SwitchLidRoutes> switches;  // of routing
  std::string engine, reason;                       // which one was chosen, and why
  bool new_cabling = false;                         // the cabling is not the one of the routing before
  std::size_t broken_links = 0;                     // remembered, but not up
  std::size_t unknown_names = 0;                    // of the policy, that the fabric does not have
  std::uint64_t cut_off_pairs =
      0;  // ordered pairs of end ports without a route because of links that are down or drained
  double route_ms = 0, audit_ms = 0;
};

class SubnetRouter {
 public:
  // The cabling known from before, such as the cache file's.
  void remember(Cabling cabling) { cabling_ = std::move(cabling); }
  [[nodiscard]] const Cabling& cabling() const { return cabling_; }

  // Errors: the engine cannot route the fabric, or the tables do not pass the audit; the next call then reroutes from
  // the last tables that did.
  Result<RoutedSubnet> route(const Cabling& seen, const RoutingPolicy& policy, const RouterLimits& limits);

 private:
  Result<void> renew_scope();
  [[nodiscard]] RoutingInput input_for(const RoutingPolicy& policy, const RouterLimits& limits,
                                       RoutedSubnet& routed) const;
  Cabling cabling_;
  RoutingScopePtr scope_;  // null: to be made from the cabling
  const RoutingEngine* engine_ = nullptr;
  std::string reason_;
  std::shared_ptr<const Routing> last_;  // by engine_, in scope_; may be null
  unsigned last_max_lanes_ = 0;
};

}  // namespace railweave::fabric::opensm
