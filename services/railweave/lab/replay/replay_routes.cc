#include "services/railweave/lab/replay/replay_routes.h"

#include <utility>

#include "fabric/routing/engine_registry.h"
#include "scheduler/placement/score/job_traffic.h"
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

std::vector<scheduler::PortFlow> flows_on(const scheduler::PlacementFabric& fabric, const fabric::PathWalker& walker,
                                          const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank,
                                          const scheduler::LinkTraffic& bundled) {
  const scheduler::RoutedTrafficInput in{.topology = fabric.topology(),
                                         .walker = walker,
                                         .ports = fabric.gpu_ports(),
                                         .bundles = fabric.bundles(),
                                         .bundle_mbps = fabric.nominal_mbps()};
  return scheduler::port_flows(in, gpu_of_rank, spec.parallelism, scheduler::traffic_of_job(spec).traffic,
                               scheduler::generation_of(fabric, gpu_of_rank), bundled);
}

std::vector<fabric::Demand> demands_of(std::span<const scheduler::PortFlow> flows, double period_us) {
  std::vector<fabric::Demand> demands;
  for (const auto& flow : flows) {
    demands.push_back({flow.ports.from, flow.ports.to, scheduler::mean_kbps(flow, period_us)});
  }
  return demands;
}

}  // namespace railweave::cli
