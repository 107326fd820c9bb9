// The engine dragonfly: routes dragonflies and dragonfly+ networks minimally, over one link between groups and as few
// links as possible within them; on two lanes on a dragonfly, on one on a dragonfly+ or a full mesh. Where failed links
// leave two groups without a link of their own, traffic between them passes a third group; such paths, and other
// detours around failures, are put on lanes on which they provably close no circle (detour_lanes.h), on further lanes
// if necessary. Planes that have another shape are routed up and down. Rates and link costs only choose among routes of
// equal length; weights of destinations are ignored. Stateless; any number of threads may use one.
#pragma once

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

class DragonflyEngine final : public RoutingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] EngineFit fit(const RoutingScope& scope) const override;
  [[nodiscard]] bool incremental() const override { return true; }
  // Errors: impossible, where no plane is a dragonfly or max_lanes is too small.
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override;
  [[nodiscard]] Result<Routing> reroute(const Routing& before, const RoutingInput& input) const override;

 private:
  // Of the fabric as it is now, on whatever levels suit it.
  static constexpr std::string_view kName = "dragonfly";
  static Result<Routing> route_as_is(const RoutingInput& input);
};

}  // namespace railweave::fabric
