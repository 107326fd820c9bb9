#include "services/railweave/lab/replay/replay_routes.h"

#include <utility>

#include "fabric/routing/engine_registry.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {

std::unique_ptr<const ReplayRoutes> replay_routes(const scheduler::PlacementFabric& fabric) {
  auto routes = std::make_unique<ReplayRoutes>();
  routes->view = fabric::FabricView(fabric.topology_ptr());
  auto scope = value_or_fail(fabric::RoutingScope::make(fabric.topology_ptr()));
  const auto choice = fabric::choose_engine(*scope);
  routes->routing = value_or_fail(choice.engine->route({.view = routes->view, .scope = std::move(scope)}));
  return routes;
}

}  // namespace railweave::cli
