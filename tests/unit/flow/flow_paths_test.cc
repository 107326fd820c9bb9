#include "fabric/flow/flow_paths.h"

#include <random>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/plane/route_trace.h"

namespace railweave::fabric {
namespace {

// Against trace_route(), which follows the tables over the topology hop by hop with code of its own.
void expect_as_traced(const FabricView& view, const Routing& routing, std::uint64_t seed) {
  const Topology& t = view.topology();
  std::vector<PortId> ends;
  for (const PortId port : t.hca_ports()) ends.push_back(port);
  std::mt19937_64 random(seed);
  std::vector<EndPortPair> pairs;
  for (int i = 0; i < 2000; ++i) pairs.push_back({ends[random() % ends.size()], ends[random() % ends.size()]});
  const PathWalker walker(view, routing.tables);
  const FlowPaths paths = walker.paths(pairs);
  ASSERT_EQ(paths.size(), pairs.size());
  std::size_t lost = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::vector<DirectedLink> expected;
    const DestinationId to = routing.tables.scope().find(pairs[i].to);
    if (to && pairs[i].from != pairs[i].to) {
      const RouteTrace trace = trace_route(view, routing.tables, routing.lanes, pairs[i].from, to);
      if (trace.end == TraceEnd::arrived) {
        for (const TraceHop& hop : trace.hops) {
          EXPECT_EQ(t.peer(hop.out), hop.in);
          expected.push_back(directed_link(t, hop.out));
        }
      }
    }
    lost += expected.empty() ? 1 : 0;
    const auto path = paths.path(i);
    ASSERT_EQ(std::vector<DirectedLink>(path.begin(), path.end()), expected) << "pair " << i;
    std::vector<DirectedLink> alone;
    EXPECT_EQ(walker.append(pairs[i], alone), !expected.empty());
    EXPECT_EQ(alone, expected);
  }
  EXPECT_EQ(paths.unrouted, lost);
}

TEST(FlowPaths, FollowTheTablesLinkByLink) {
  for (const char* kind : {"fat-tree", "rail-optimized", "dragonfly", "torus"}) {
    SCOPED_TRACE(kind);
    auto topology = generate(kind, {});
    ASSERT_TRUE(topology) << topology.error().text();
    const auto shared = std::make_shared<const Topology>(std::move(*topology));
    FabricView view(shared);
    const auto scope = RoutingScope::make(shared).value();
    const Routing routing = choose_engine(*scope).engine->route({.view = view, .scope = scope}).value();
    expect_as_traced(view, routing, 1);
    // Links that fail after the tables were computed: some pairs are lost.
    for (std::size_t i = 0; i < shared->links().size(); i += 17) view.set_state(LinkId(i), LinkState::down);
    expect_as_traced(view, routing, 2);
    // Entries that name any port, some of them one that the switch does not have: packets end there, or circle.
    Routing damaged = routing;
    std::mt19937_64 random(3);
    for (const PlaneId plane : IdRange<PlaneId>(0, scope->planes().size())) {
      PlaneTables tables = damaged.tables.plane(plane);
      PlaneTables::Editor edit(tables);
      for (std::size_t i = 0; i < tables.switches() * tables.destinations() / 8; ++i) {
        edit.set(random() % tables.switches(), random() % tables.destinations(),
                 static_cast<std::uint16_t>(random() % 70));
      }
      damaged.tables.set_plane(plane, std::move(tables));
    }
    expect_as_traced(view, damaged, 3);
  }
}

TEST(DirectedLink, CountsBothDirectionsOfEveryCable) {
  const auto shared = std::make_shared<const Topology>(generate("fat-tree", {}).value());
  FabricView view(shared);
  std::vector<int> seen(directed_link_count(*shared), 0);
  ASSERT_FALSE(seen.empty());
  for (const PortId port : shared->all_ports()) {
    if (!shared->peer(port)) continue;
    const DirectedLink link = directed_link(*shared, port);
    ++seen[link];
    EXPECT_EQ(link_of(link), shared->link(port));
    EXPECT_EQ(out_port_of(*shared, link), port);
  }
  EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(seen.size()));
  view.set_state(LinkId(3), LinkState::down);
  const auto capacity = link_capacities_mbps(view);
  EXPECT_EQ(capacity[6], 0);
  EXPECT_EQ(capacity[7], 0);
  EXPECT_EQ(capacity[4], shared->rate(LinkId(2)).value());
}

}  // namespace
}  // namespace railweave::fabric
