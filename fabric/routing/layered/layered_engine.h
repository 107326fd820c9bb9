// Balanced shortest paths on any fabric, spread over virtual lanes so that no lane holds a circle of turns (after
// DFSSSP, Domke et al. 2011). Lane 0 takes the paths that go up and then down; the others take what closes no circle,
// first come first served. Where lanes run out, a destination is routed up and down, on lane 0: so any number of lanes
// will do, and the more there are, the better traffic spreads. Not incremental.
#pragma once

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

class LayeredEngine final : public RoutingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "layered"; }
  [[nodiscard]] EngineFit fit(const RoutingScope& scope) const override;
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override;
};

}  // namespace railweave::fabric
