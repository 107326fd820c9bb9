// The engine layered: balanced shortest paths on any fabric, spread over virtual lanes so that no lane has a circle of
// turns (after DFSSSP, Domke et al. 2011). Lane 0 has the paths that go up and then down; every other path is put on
// the first lane on which it closes no circle. Where no lane is found, the destination is routed up and down on lane 0,
// so any number of lanes is enough, and traffic spreads better the more there are. Not incremental. Stateless; any
// number of threads may use one.
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
