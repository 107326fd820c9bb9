// Options of routing: LMC, large switches, link costs, drains, destination weights, threads, few lanes.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/layered/layered_engine.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::check_naively;
using testing::FatTreeShape;
using testing::input_of;
using testing::make_fat_tree;
using testing::random_graph;
using testing::random_tree;
using testing::routed;

constexpr FatTreeShape kSmall{
    .hosts_per_leaf = 4, .leaves_per_pod = 4, .spines_per_pod = 4, .pods = 1, .cores_per_spine = 0};

TEST(RoutingOptions, LidsOfOnePortUseDifferentUplinks) {
  const RoutingInput input = input_of(make_fat_tree(kSmall), {.lmc = 2});
  ASSERT_EQ(input.scope->destinations().size(), 64U);
  const Routing routing = routed(input);
  const auto naive = check_naively(input.view, routing);
  EXPECT_EQ(naive.failed, 0U) << naive.text();
  EXPECT_FALSE(naive.credit_loop);
  // Seen from another leaf, the four LIDs of a port leave by four uplinks.
  std::map<PortId, std::set<std::uint16_t>> uplinks;
  const Topology& t = *input.scope->topology_ptr();
  for (const DestinationId id : input.scope->destinations()) {
    const Destination& d = input.scope->destination(id);
    EXPECT_EQ(input.scope->lid(id) % 4, d.lid_offset) << "LIDs of a port share their upper bits";
    for (const SwitchId sw : t.switches()) {
      if (t.is_leaf(sw) && sw != d.home && sw == (d.home == SwitchId(0) ? SwitchId(1) : SwitchId(0)))
        uplinks[d.port].insert(routing.tables.out_port(sw, id));
    }
  }
  ASSERT_EQ(uplinks.size(), 16U);
  for (const auto& [port, ports] : uplinks) EXPECT_EQ(ports.size(), 4U);
}

// 144 ports on a leaf, and a director of 400: entries of two bytes.
TEST(RoutingOptions, LargeSwitchesAreRouted) {
  for (const unsigned hosts : {72U, 200U}) {
    const FatTreeShape shape{.hosts_per_leaf = hosts,
                             .leaves_per_pod = 3,
                             .spines_per_pod = hosts / 2,
                             .pods = 1,
                             .cores_per_spine = 0,
                             .leaf_cables = 2};
    RoutingInput input = input_of(make_fat_tree(shape));
    const Routing routing = routed(input);
    const AuditReport report = audit(input.view, routing.tables, routing.lanes);
    EXPECT_TRUE(report.verified());
    EXPECT_EQ(report.unreachable_pairs, 0U);
    EXPECT_EQ(report.max_link_load_hosts, 2 * hosts);
    EXPECT_EQ(routing.tables.plane(PlaneId(0)).wide(), hosts == 200);
    const RoutingEngine& engine = *choose_engine(*input.scope).engine;
    Routing rerouted = routing;
    for (std::size_t i = 0; i < input.scope->topology().links().size(); i += 97) {
      input.view.set_state(LinkId(i), LinkState::down);
      rerouted = engine.reroute(rerouted, input).value();
    }
    EXPECT_TRUE(rerouted.tables == engine.route(input).value().tables);
    EXPECT_TRUE(audit(input.view, rerouted.tables, rerouted.lanes, {.shift_samples = 0}).verified());
  }
}

TEST(RoutingOptions, DrainedCarriesNoTransitAndIsStillServed) {
  const auto topology = make_fat_tree(kSmall);
  RoutingInput input = input_of(topology);
  const SwitchId spine = topology->find_switch("p0-spine-1");
  input.view.set_drained(spine, true);
  const Routing routing = routed(input);
  const auto naive = check_naively(input.view, routing);
  EXPECT_EQ(naive.failed, 0U);
  ASSERT_FALSE(naive.load.empty());
  for (const auto& [port, load] : naive.load) EXPECT_NE(topology->switch_of(topology->peer(port)), spine) << load;
  EXPECT_LE(naive.max_host_load, 48U * 4 / 3 / 4 * 4) << "12 other hosts from 4, over 3 uplinks";
  EXPECT_EQ(audit(input.view, routing.tables, routing.lanes).drained_entries, 0U);
}

std::uint64_t load_over(const RoutingInput& input, const Routing& routing, LinkId link) {
  const auto naive = check_naively(input.view, routing);
  const Topology& t = input.view.topology();
  std::uint64_t load = 0;
  for (const PortId port : {t.a(link), t.b(link)}) {
    if (const auto found = naive.host_load.find(port); found != naive.host_load.end()) load += found->second;
  }
  return load;
}

TEST(RoutingOptions, CostlyLinksCarryLess) {
  const auto topology = make_fat_tree(kSmall);
  const RoutingInput plain = input_of(topology);
  const Routing healthy = routed(plain);
  LinkId link;
  for (const LinkId each : topology->links()) {
    if (topology->joins_switches(each)) link = each;
  }
  const std::uint64_t before = load_over(plain, healthy, link);
  ASSERT_GT(before, 0U);
  RoutingInput degraded = plain;
  degraded.view.set_state(link, LinkState::degraded);
  const RoutingEngine& engine = *choose_engine(*plain.scope).engine;
  const Routing by_state = engine.reroute(healthy, degraded).value();
  EXPECT_LT(load_over(degraded, by_state, link), before);
  EXPECT_TRUE(by_state.tables == engine.route(degraded).value().tables);
  RoutingInput costly = plain;
  auto costs = std::make_shared<std::vector<float>>(topology->links().size(), 1.0F);
  (*costs)[link.index()] = 4;
  costly.link_cost = costs;
  EXPECT_LT(load_over(costly, routed(costly), link), before);
  (*costs)[link.index()] = INFINITY;
  EXPECT_EQ(load_over(costly, routed(costly), link), 0U);
}

// Two heavy destinations on each leaf: by number alone they would share a cable.
TEST(RoutingOptions, HeavyDestinationsAreSpread) {
  FatTreeShape shape = kSmall;
  shape.spines_per_pod = 2;  // 4 hosts over 2 uplinks
  const auto topology = make_fat_tree(shape);
  RoutingInput input = input_of(topology);
  auto weights = std::make_shared<std::vector<std::uint32_t>>(input.scope->destinations().size(), 1);
  for (std::size_t i = 0; i < weights->size(); i += 2) (*weights)[i] = 100;  // those that share a cable by number
  const auto heaviest = [&](const Routing& routing) {
    std::map<std::pair<SwitchId, std::uint16_t>, std::uint64_t> sum;
    std::uint64_t most = 0;
    for (const DestinationId id : input.scope->destinations()) {
      for (const SwitchId sw : topology->switches()) {
        if (!topology->is_leaf(sw) || sw == input.scope->destination(id).home) continue;
        most = std::max(most, sum[{sw, routing.tables.out_port(sw, id)}] += (*weights)[id.index()]);
      }
    }
    return most;
  };
  const std::uint64_t alike = heaviest(routed(input));
  input.destination_weight = weights;
  const Routing weighted = routed(input);
  EXPECT_EQ(check_naively(input.view, weighted).failed, 0U);
  EXPECT_LE(heaviest(weighted), 3 * 101U);
  EXPECT_LT(heaviest(weighted), alike);
}

TEST(RoutingOptions, FasterLinksCarryMoreInProportion) {
  testing::FabricSketch sketch;
  constexpr unsigned kLeaves = 6, kHosts = 10;
  sketch.switches.assign(kLeaves + 3, {});
  for (unsigned leaf = 0; leaf < kLeaves; ++leaf) {
    sketch.switches[leaf].hosts = kHosts;
    for (unsigned spine = 0; spine < 3; ++spine) {
      sketch.cables.emplace_back(leaf, kLeaves + spine);
      sketch.cable_specs.push_back(infiniband_link(4, spine < 2 ? LinkSpeed::ndr : LinkSpeed::hdr));
    }
  }
  const RoutingInput input = input_of(build(sketch));
  const Topology& topology = input.scope->topology();
  for (const char* engine : {"fat-tree", "up-down"}) {
    const auto naive = check_naively(input.view, find_engine(engine)->route(input).value());
    for (const auto& [port, load] : naive.host_load) {
      // 10 hosts send to the 50 of other leaves over 400 + 400 + 200 Gb/s: 200, 200 and 100 pairs.
      const std::uint64_t share = topology.rate(topology.link(port)).gbps() == 400 ? 200 : 100;
      EXPECT_EQ(load, share) << engine << " " << topology.port_text(port);
    }
    EXPECT_EQ(naive.host_load.size(), 2U * 3 * kLeaves) << engine;
  }
}

TEST(RoutingOptions, ResultsDoNotDependOnThreads) {
  std::size_t several = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const TopologyPtr topology = build(random_tree(seed));
    RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
    several += input.scope->planes().size() > 1 ? 1 : 0;
    const RoutingEngine& engine = *find_engine(seed % 2 == 0 ? "fat-tree" : "up-down");
    const Routing alone = engine.route(input).value();
    const AuditReport report = audit(input.view, alone.tables, alone.lanes);
    for (const std::size_t threads : {2, 5}) {
      input.threads = threads;
      const Routing together = engine.route(input).value();
      ASSERT_TRUE(together.tables == alone.tables) << "seed " << seed;
      AuditOptions options;
      options.parts = threads;
      options.run = on_threads();
      const AuditReport again = audit(input.view, alone.tables, alone.lanes, options);
      ASSERT_EQ(again.max_link, report.max_link) << "seed " << seed;
      ASSERT_EQ(again.max_link_load_hosts, report.max_link_load_hosts);
      ASSERT_EQ(again.unreachable_pairs, report.unreachable_pairs);
      ASSERT_EQ(again.credit_loops, report.credit_loops);
    }
  }
  EXPECT_GT(several, 5U);
  // Rows of one plane.
  const TopologyPtr topology = make_fat_tree(testing::tree_of_1728());
  RoutingInput input = input_of(topology);
  const Routing alone = routed(input);
  ASSERT_GT(topology->switches().size(), 400U);
  for (const std::size_t threads : {2, 3}) {
    input.threads = threads;
    ASSERT_TRUE(routed(input).tables == alone.tables) << threads;
  }
}

TEST(RoutingOptions, LayeredUsesAnyNumberOfLanes) {
  const LayeredEngine engine;
  unsigned most = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    RoutingInput input = input_of(build(random_graph(seed)));
    for (const unsigned lanes : {1U, 2U, 8U, 15U}) {
      input.max_lanes = lanes;
      const Routing routing = engine.route(input).value();
      EXPECT_LE(routing.lanes.used(), lanes) << "seed " << seed;
      const auto naive = check_naively(input.view, routing);
      EXPECT_EQ(naive.failed, 0U) << "seed " << seed << ": " << naive.text();
      EXPECT_FALSE(naive.credit_loop) << "seed " << seed << " lanes " << lanes;
      EXPECT_TRUE(lanes < 15 || naive.nonminimal == 0) << "seed " << seed;
      most = std::max(most, routing.lanes.used());
    }
    if (HasFailure()) break;
  }
  EXPECT_GE(most, 2U);
}

}  // namespace
}  // namespace railweave::fabric
