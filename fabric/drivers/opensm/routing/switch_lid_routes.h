// Routes to the switches' own LIDs, beside the routing of end ports: management in band needs them, but as destinations
// of the engine they would distort its tables (two spines of a tree have no route to each other that goes up and then
// down).
//
// A switch with end ports is reached as they are. Others are reached up and then down on the order that the plane's
// routes follow, so that packets never wait for each other in a circle; without such an order they are not reached.
// Leaves that have no such route, as to a spine that they are not cabled to, may go up once more where that closes no
// circle of waits with the routes that exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric::opensm {

class SwitchLidRoutes {
 public:
  SwitchLidRoutes() = default;
  SwitchLidRoutes(const Routing& routing, const FabricView& view);

  // The next hop at `at` for the switch `to`; kPortZero: `at` is that switch; kNoPort: no route.
  [[nodiscard]] std::uint16_t port(SwitchId at, SwitchId to) const;
  // A destination on the switch whose routes it shares; none: it has its own routes, or none.
  [[nodiscard]] DestinationId copied_from(SwitchId to) const { return copied_from_[to.index()]; }
  // Switches that some leaf (a switch with end ports) cannot send to.
  [[nodiscard]] std::size_t unreached() const { return unreached_; }

 private:
  const RoutingScope* scope_ = nullptr;
  std::vector<std::vector<std::uint16_t>> ports_;  // by plane: target-major
  std::vector<DestinationId> copied_from_;         // by switch
  std::size_t unreached_ = 0;
};

}  // namespace railweave::fabric::opensm
