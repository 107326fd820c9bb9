// The engine layered: balanced shortest paths on any fabric, spread over virtual lanes so that no lane has a circle of
// turns (after DFSSSP, Domke et al. 2011). Lane 0 has the paths that go up and then down; every other path is put on
// the first lane on which it closes no circle. Where no lane is found, the destination is routed up and down on lane 0,
// so any number of lanes is enough, and traffic spreads better the more there are. Stateless; any
// number of threads may use one.
#pragma once

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

class LayeredEngine final : public RoutingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] EngineFit fit(const RoutingScope& scope) const override;
  [[nodiscard]] bool incremental() const override { return true; }
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override;
  [[nodiscard]] Result<Routing> reroute(const Routing& before, const RoutingInput& input) const override;

 private:
  // Of the fabric as it is now, on whatever levels suit it.
  static constexpr std::string_view kName = "layered";
  static Result<Routing> route_as_is(const RoutingInput& input);
};

}  // namespace railweave::fabric
