// Routes that follow the traffic that there is: next hops for single switches and destinations, so that flows meet on fewer
// links. Engines spread destinations evenly, as if every pair of hosts sent; running jobs send between few pairs, which then
// share some links and leave others empty (Domke and Hoefler, Scheduling-Aware Routing for Supercomputers, SC 2016). Pure;
// deterministic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

struct Demand {
  PortId from, to;         // end ports
  std::uint64_t kbps = 0;  // that the flow would send
};

struct TrafficBalanceOptions {
  std::size_t max_hops = 10'000;
  std::uint64_t steps = 20'000'000;  // next hops looked at
  // Whether routes to an end port stay as they are; none: of no end port.
  std::function<bool(PortId)> stays;
};

struct TrafficBalance {
  std::vector<ChosenHop> hops;  // all that are to be in force, ascending
  bool is_changed = false;      // others than those of the routing's view that traffic still takes
  // Of the fullest link between switches, as a share of its rate, before and after; above 1: more is asked for than it carries.
  double fullest_before = 0, fullest = 0;
  // Sums over the links of the fourth power of that share: what the search brings down.
  double cost_before = 0, cost = 0;
  std::size_t demands = 0;  // pairs of a switch and an end port that cross links between switches
  // Whether the gain pays for changing routes: 5%, or a link's worth; a few flows that meet are little beside many, and what takes a
  // link from twice its rate to its rate gains 14.
  [[nodiscard]] bool is_worth_it() const { return cost_before - cost > std::min(0.05 * cost, 0.1); }
};

// Hops for the routing of a view, from those that it has already (SpreadBasis::hops), so that few routes change; those that no
// demand takes any more are left out. Local search: hops of the fullest links are moved while the cost falls, one at a time or
// several that gain together. Links to end ports carry the same whatever is chosen. Planes without an order (Routing::orders) stay as they are: several lanes keep them free of
// credit loops. O(demands x longest route), and then at most `steps`.
TrafficBalance balance_traffic(const FabricView& view, const Routing& routing, std::span<const Demand> demands,
                               const TrafficBalanceOptions& options = {});

}  // namespace railweave::fabric
