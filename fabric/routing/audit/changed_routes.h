// The audit of what a reroute changed, before it is programmed: milliseconds where the whole audit takes a second.
// Looks at the destinations for which any entry differs, from every switch; all others are as they were when they were
// audited.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

struct ChangedRoutes {
  std::size_t destinations = 0;     // looked at
  std::uint64_t lost_pairs = 0;     // (end port, one of them) that links connect, but the tables do not
  std::uint64_t cut_off_pairs = 0;  // that nothing connects
  std::uint64_t bends = 0;          // turns from down to up, on the order that the tables were made on
  std::string example;              // of a lost pair or a bend
  // Every changed destination is reached from wherever it can be, without loops, going up and then down.
  [[nodiscard]] bool verified() const { return lost_pairs == 0 && bends == 0; }
};

// None of a plane without an order (several lanes): audit() has to look at all of it, and `complete` is false.
struct ChangedRoutesReport {
  ChangedRoutes changed;
  bool complete = true;
};
ChangedRoutesReport check_changed_routes(const FabricView& view, const Routing& before, const Routing& after);

}  // namespace railweave::fabric
