// The audit of what a reroute changed, before it is programmed: takes milliseconds where the whole audit takes a
// second. Walks the destinations for which any entry differs, from every switch; the others were audited before. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

struct ChangedRoutes {
  std::size_t destinations = 0;     // number of destinations walked
  std::uint64_t lost_pairs = 0;     // (end port, destination) that links connect, but the tables do not
  std::uint64_t cut_off_pairs = 0;  // (end port, destination) that no links connect
  std::uint64_t bends = 0;          // turns from down to up, on the order that the tables follow
  std::string example;              // of a lost pair or a bend
  // Whether every changed destination is reached from all connected end ports, without loops, going up and then down.
  [[nodiscard]] bool verified() const { return lost_pairs == 0 && bends == 0; }
};

// complete: false if a plane that changed has no order (it uses several lanes) and is not covered: it needs audit().
struct ChangedRoutesReport {
  ChangedRoutes changed;
  bool complete = true;
};
ChangedRoutesReport check_changed_routes(const FabricView& view, const Routing& before, const Routing& after);
// The same of these planes alone.
ChangedRoutesReport check_changed_routes(const FabricView& view, const Routing& before, const Routing& after,
                                         std::span<const PlaneId> planes);

}  // namespace railweave::fabric
