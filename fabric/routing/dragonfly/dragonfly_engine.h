// Routes dragonflies and dragonfly+ networks minimally: one link between groups, and as few as can be within them; two
// lanes on a dragonfly, one on a dragonfly+ or a full mesh. Where links that failed leave two groups without a link of
// their own, traffic between them goes by way of a third; such paths, and others that failures bend, are put on lanes
// on which they provably close no circle (detour_lanes.h), further ones if need be. Planes of the fabric that have
// another shape are routed up and down. Rates and link costs choose among equally short ways only; weights of
// destinations are not looked at. Not incremental.
#pragma once

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

class DragonflyEngine final : public RoutingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "dragonfly"; }
  [[nodiscard]] EngineFit fit(const RoutingScope& scope) const override;
  // Errors: impossible, where no plane is a dragonfly, or lanes are too few.
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override;
};

}  // namespace railweave::fabric
