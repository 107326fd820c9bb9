// Traces against the naive checker: it counts the routes of all pairs of end ports that cross each directed link, and
// the traces of all pairs must have the same counts.
#include "fabric/routing/plane/route_trace.h"

#include <map>

#include <gtest/gtest.h>

#include "fabric/routing/engine_registry.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::input_of;
using testing::random_graph;
using testing::random_tree;
using testing::routed;

TEST(RouteTrace, AllTracesTogetherCrossWhatTheNaiveCheckerCounts) {
  std::size_t loaded_links = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto topology = build(seed % 3 == 0 ? random_graph(seed) : random_tree(seed));
    RoutingInput input = input_of(topology);
    if (seed % 2 == 0) input.view.set_state(LinkId(seed % topology->links().size()), LinkState::down);
    const Routing routing = routed(input);
    const auto naive = testing::check_naively(input.view, routing);
    std::map<PortId, std::uint64_t> load;
    std::uint64_t unreachable = 0;
    for (const PortId from : topology->hca_ports()) {
      if (!input.scope->find(from)) continue;
      for (const DestinationId to : input.scope->destinations()) {
        const Destination& destination = input.scope->destination(to);
        if (destination.port == from || destination.lid_offset != 0) continue;
        const RouteTrace trace = trace_route(input.view, routing.tables, routing.lanes, from, to);
        if (trace.end == TraceEnd::other_plane) continue;
        if (trace.end != TraceEnd::arrived) {
          ++unreachable;
          continue;
        }
        ASSERT_EQ(trace.hops.front().out, from);
        ASSERT_EQ(trace.hops.back().in, destination.port);
        for (std::size_t i = 0; i < trace.hops.size(); ++i) {
          const auto& hop = trace.hops[i];
          ASSERT_EQ(topology->peer(hop.out), hop.in);
          if (i > 0) {
            ASSERT_EQ(topology->switch_of(hop.out), topology->switch_of(trace.hops[i - 1].in));
          }
          if (topology->joins_switches(topology->link(hop.out))) ++load[hop.out];
        }
      }
    }
    loaded_links += naive.load.size();
    for (const auto& [port, count] : naive.load) {
      ASSERT_EQ(load[port], count) << "seed " << seed << ", " << topology->port_text(port);
    }
    for (const auto& [port, count] : load) ASSERT_EQ(naive.load.contains(port) ? naive.load.at(port) : 0, count);
    if (naive.unreachable == 0) {
      ASSERT_EQ(unreachable, 0U);
    }
  }
  EXPECT_GT(loaded_links, 0U);
}

TEST(RouteTrace, ReportsWhereItEnds) {
  const auto topology = build(random_tree(5));
  RoutingInput input = input_of(topology);
  const Routing routing = routed(input);
  const PortId from = input.scope->destination(DestinationId(0)).port;
  const DestinationId to(input.scope->destinations().size() - 1);
  const auto end_of = [&](const FabricView& view) {
    return trace_route(view, routing.tables, routing.lanes, from, to).end;
  };
  ASSERT_EQ(end_of(input.view), TraceEnd::arrived);
  const RouteTrace whole = trace_route(input.view, routing.tables, routing.lanes, from, to);
  ASSERT_GE(whole.hops.size(), 3U);

  FabricView broken = input.view;
  broken.set_state(topology->link(from), LinkState::down);
  EXPECT_EQ(end_of(broken), TraceEnd::source_cut_off);
  broken = input.view;
  broken.set_state(topology->link(whole.hops.back().out), LinkState::down);
  EXPECT_EQ(end_of(broken), TraceEnd::destination_cut_off);
  broken = input.view;
  broken.set_state(topology->link(whole.hops[1].out), LinkState::down);
  EXPECT_EQ(end_of(broken), TraceEnd::dead_port);

  const auto end_with = [&](std::uint16_t port) {
    Routing changed = routing;
    const SwitchId at = topology->switch_of(whole.hops[1].out);
    const PlaneId plane = input.scope->plane_of(at);
    PlaneTables tables = changed.tables.plane(plane);
    PlaneTables::Editor(tables).set(input.scope->local(at), input.scope->local(to), port);
    changed.tables.set_plane(plane, std::move(tables));
    return trace_route(input.view, changed.tables, changed.lanes, from, to).end;
  };
  EXPECT_EQ(end_with(kNoPort), TraceEnd::no_entry);
  EXPECT_EQ(end_with(static_cast<std::uint16_t>(topology->number(whole.hops[0].in))), TraceEnd::wrong_port);
}

}  // namespace
}  // namespace railweave::fabric
