// Routes tori of one to three long dimensions (and hypercubes) in dimension order with datelines, on two lanes. Where
// links or switches that failed leave dimension order without a way, paths turn aside; each is put on lanes on which it
// provably closes no circle (detour_lanes.h), a third lane if need be. Planes of the fabric that are no torus, a
// storage network for instance, are routed up and down. Link costs and rates choose among parallel links only; weights
// of destinations are not looked at. Not incremental.
#pragma once

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

class TorusEngine final : public RoutingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "torus-3d"; }
  [[nodiscard]] EngineFit fit(const RoutingScope& scope) const override;
  // Errors: impossible, where no plane is a torus, or lanes are too few.
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override;
};

}  // namespace railweave::fabric
