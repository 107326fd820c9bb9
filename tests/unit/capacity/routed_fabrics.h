// Random fabrics with routes, healthy or with links down, for tests of capacity and guarantees.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "fabric/capacity/route_changes.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/fat_trees.h"

namespace railweave::fabric::testing {

struct Routed {
  FabricView view;
  RoutingScopePtr scope;
  Routing routing;
  std::vector<PortId> ends;
};

inline Routed route_view(FabricView view) {
  Routed made{.view = std::move(view)};
  made.scope = RoutingScope::make(made.view.topology_ptr()).value();
  made.routing = choose_engine(*made.scope).engine->route({.view = made.view, .scope = made.scope}).value();
  for (const PortId port : made.view.topology().hca_ports()) made.ends.push_back(port);
  return made;
}

// The same fabric with one more link down, rerouted.
struct FailedOne {
  FabricView view;
  Routing routing;
};
inline FailedOne fail_one(const Routed& fabric, LinkId link) {
  FabricView view = fabric.view;
  view.set_state(link, LinkState::down);
  auto routing =
      choose_engine(*fabric.scope).engine->reroute(fabric.routing, {.view = view, .scope = fabric.scope}).value();
  return {std::move(view), std::move(routing)};
}

// Borrows the fabric.
inline FailureRoutes failure_routes(const Routed& fabric) {
  return {[&fabric](LinkId link) -> Result<RouteChangesPtr> {
            return std::make_shared<const RouteChanges>(route_changes(
                fabric.routing.tables, fail_one(fabric, link).routing.tables, fabric.scope->arc_of(link).plane));
          },
          [&fabric](PlaneId plane) {
            return choose_engine(*fabric.scope).engine->far_reaching_links(fabric.routing, plane);
          }};
}

enum class Health {
  even,    // a fat tree whose counts divide: every host of a leaf has an uplink of its own, every leaf of a pod a core
  uneven,  // any counts, no failures
  failures,  // any counts, or a dragonfly or a torus; one link in eight is down
};

inline FatTreeShape random_shape(std::mt19937_64& random, bool even) {
  const auto from = [&](unsigned low, unsigned high) {
    return low + static_cast<unsigned>(random() % (high - low + 1));
  };
  FatTreeShape shape{.hosts_per_leaf = from(1, 4),
                     .leaves_per_pod = from(1, 4),
                     .spines_per_pod = from(1, 4),
                     .pods = from(1, 4),
                     .cores_per_spine = from(1, 3),
                     .leaf_cables = from(1, 2),
                     .planes = from(0, 3) == 0 ? 2U : 1U,
                     .guid_seed = random() | 1U};
  if (even) {
    shape.leaf_cables = 1;
    shape.hosts_per_leaf = shape.spines_per_pod * from(1, 2);
    shape.leaves_per_pod = shape.cores_per_spine * from(1, 2);
  }
  return shape;
}

inline Routed random_fabric(std::uint64_t seed, Health health) {
  std::mt19937_64 random(seed);
  TopologyPtr topology;
  const char* kinds[] = {"dragonfly", "torus"};
  if (health == Health::failures && random() % 4 == 0) {
    topology = std::make_shared<const Topology>(generate(kinds[random() % 2], {}).value());
  } else {
    topology = make_fat_tree(random_shape(random, health == Health::even));
  }
  FabricView view(topology);
  if (health == Health::failures) {
    for (const LinkId link : topology->links()) {
      if (random() % 100 < (topology->joins_switches(link) ? 12 : 1)) view.set_state(link, LinkState::down);
    }
  }
  return route_view(std::move(view));
}

// Whose subnets spread their packets; with lmc end ports have 2 or 4 LIDs.
inline Routed spread_fabric(std::uint64_t seed, Health health, PathSpread spread) {
  Routed made{.view = random_fabric(seed, health).view};
  const Topology& t = made.view.topology();
  for (const SubnetId subnet : t.subnets()) made.view.set_spread(subnet, spread);
  const auto lmc = static_cast<std::uint8_t>(spread == PathSpread::lmc ? 1 + seed % 2 : 0);
  made.scope = RoutingScope::make(made.view.topology_ptr(), {.lmc = lmc}).value();
  made.routing = choose_engine(*made.scope).engine->route({.view = made.view, .scope = made.scope}).value();
  for (const PortId port : t.hca_ports()) made.ends.push_back(port);
  return made;
}

}  // namespace railweave::fabric::testing
