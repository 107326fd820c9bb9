// Ways to the switches' own LIDs, beside the routing of end ports: management in band needs them, but as destinations
// of the engine they would bend its tables (two spines of a tree have no way to each other that goes up and then down).
//
// A switch that end ports hang on is reached as they are. Others are reached up and then down on the order that the
// plane's routes follow, so that no circle of waiting packets can come of it; without such an order they are not.
// Leaves that have no such way, as to a spine that they are not cabled to, may turn up once more where that, with all
// there is, closes no circle either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric::opensm {

class SwitchWays {
 public:
  SwitchWays() = default;
  SwitchWays(const Routing& routing, const FabricView& view);

  // The port by which `at` sends on what is for the switch `to`; kPortZero: it is there; kNoPort: no way.
  [[nodiscard]] std::uint16_t port(SwitchId at, SwitchId to) const;
  // A destination on the switch whose ways lead to it; none: it has ways of its own, or none.
  [[nodiscard]] DestinationId like(SwitchId to) const { return like_[to.index()]; }
  // Switches that some leaf (a switch with end ports) cannot send to.
  [[nodiscard]] std::size_t unreached() const { return unreached_; }

 private:
  const RoutingScope* scope_ = nullptr;
  std::vector<std::vector<std::uint16_t>> ports_;  // by plane: target-major
  std::vector<DestinationId> like_;                // by switch
  std::size_t unreached_ = 0;
};

}  // namespace railweave::fabric::opensm
