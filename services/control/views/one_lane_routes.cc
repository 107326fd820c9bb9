#include "services/control/views/one_lane_routes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::control {

Result<FabricRoutesPtr> on_one_lane(const FabricRoutesPtr& routes, std::span<const fabric::PlaneId> planes) {
  const auto& lanes = routes->routing.lanes.planes;
  const bool are_single = std::ranges::all_of(
      planes, [&](fabric::PlaneId plane) { return plane.index() >= lanes.size() || lanes[plane.index()].single(); });
  if (are_single) return routes;
  const fabric::RoutingEngine* engine = fabric::find_engine("up-down");
  RAILWEAVE_CHECK(engine != nullptr, "the registry has up-down");
  auto routing = engine->route(routes->input);
  if (!routing) return std::unexpected(std::move(routing.error()));
  return std::make_shared<const FabricRoutes>(
      routes->input, fabric::EngineChoice{engine, "one lane, as there is none to give paths service levels"},
      std::move(*routing), routes->taken);
}

}  // namespace railweave::control
