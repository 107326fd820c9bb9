// The engine torus-3d: routes tori of one to three long dimensions (and hypercubes) in dimension order with datelines,
// on two lanes. Where failed links or switches leave dimension order without a route, paths make detours; each is put
// on lanes on which it provably closes no circle (detour_lanes.h), on a third lane if necessary. Planes that are no
// torus, a storage network for instance, are routed up and down. Link costs and rates only choose among parallel links;
// weights of destinations are ignored. Stateless; any number of threads may use one.
#pragma once

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

class TorusEngine final : public RoutingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] EngineFit fit(const RoutingScope& scope) const override;
  [[nodiscard]] bool incremental() const override { return true; }
  // Errors: impossible, where no plane is a torus or max_lanes is too small.
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override;
  [[nodiscard]] Result<Routing> reroute(const Routing& before, const RoutingInput& input) const override;

 private:
  // Of the fabric as it is now, on whatever levels suit it.
  static constexpr std::string_view kName = "torus-3d";
  static Result<Routing> route_as_is(const RoutingInput& input);
};

}  // namespace railweave::fabric
