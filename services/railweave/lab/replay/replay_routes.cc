#include "services/railweave/lab/replay/replay_routes.h"

#include <cmath>
#include <cstdint>
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

FollowedRoutes followed_routes(const ReplayRoutes& routes, std::span<const fabric::Demand> demands) {
  auto balance = fabric::balance_traffic(routes.view, routes.routing, demands);
  FollowedRoutes followed{.routing = {}, .hops = balance.hops.size()};
  fabric::FabricView view = routes.view;
  auto basis = std::make_shared<fabric::SpreadBasis>();
  basis->hops = std::move(balance.hops);
  view.set_spread_basis(std::move(basis));
  followed.routing =
      value_or_fail(fabric::find_engine(routes.routing.engine)
                        ->reroute(routes.routing, {.view = view, .scope = routes.routing.tables.scope_ptr()}));
  return followed;
}

std::vector<fabric::Demand> demands_of(std::span<const scheduler::PortFlow> flows, double period_us) {
  constexpr double kKilobitsPerByteAndUs = 8000;  // bytes a microsecond, as kb/s
  std::vector<fabric::Demand> demands;
  for (const auto& flow : flows) {
    const double kbps = kKilobitsPerByteAndUs * flow.bytes / period_us;
    demands.push_back({flow.ports.from, flow.ports.to, static_cast<std::uint64_t>(std::llround(kbps))});
  }
  return demands;
}

}  // namespace railweave::cli
