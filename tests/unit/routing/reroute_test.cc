// Rerouting has the same result as routing from scratch, byte for byte, for all kinds of changes and options.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/fat_trees.h"
#include "tests/support/seeds.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/random_fabric.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::check_naively;
using testing::random_graph;
using testing::random_tree;

void expect_same(const Routing& one, const Routing& other, const std::string& what) {
  EXPECT_TRUE(one.tables == other.tables) << what;
  EXPECT_EQ(one.tables.digest(), other.tables.digest()) << what;
  ASSERT_EQ(one.lanes.planes.size(), other.lanes.planes.size()) << what;
  for (std::size_t i = 0; i < one.lanes.planes.size(); ++i) {
    EXPECT_EQ(one.lanes.planes[i].path_level, other.lanes.planes[i].path_level) << what;
    EXPECT_EQ(one.lanes.planes[i].lane_table, other.lanes.planes[i].lane_table) << what;
  }
}

TEST(Reroute, EqualsRoutingFromScratch) {
  for (std::uint64_t seed = 1; seed <= part_of_seeds(3000); ++seed) {
    const auto topology = build(seed % 4 == 0 ? random_graph(seed) : random_tree(seed));
    ScopeOptions options;
    options.switch_management = seed % 7 == 0;
    options.aggregation_nodes = seed % 5 != 0;
    if (seed % 6 == 0) options.lmc = static_cast<std::uint8_t>(seed / 6 % 3);
    RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology, options).value()};
    std::mt19937_64 random(seed * 77);
    if (seed % 8 == 1) {
      auto weights = std::make_shared<std::vector<std::uint32_t>>();
      for (std::size_t i = 0; i < input.scope->destinations().size(); ++i)
        weights->push_back(static_cast<std::uint32_t>(random() % 5));
      input.destination_weight = weights;
    }
    if (seed % 8 == 3) {
      auto costs = std::make_shared<std::vector<float>>(topology->links().size(), 1.0F);
      for (float& cost : *costs) cost = random() % 4 == 0 ? 3.0F : random() % 16 == 0 ? INFINITY : 1.0F;
      input.link_cost = costs;
    }
    const RoutingEngine& engine = *find_engine(seed % 2 == 0 ? "fat-tree" : "up-down");
    const Routing healthy = engine.route(input).value();
    const FabricView whole = input.view;
    Routing routing = healthy;
    for (int step = 0; step < 3; ++step) {
      for (std::size_t n = 1 + random() % 2; n > 0; --n) {
        const LinkId link(random() % topology->links().size());
        const auto what = random() % 6;
        if (what < 3) input.view.set_state(link, LinkState::down);
        if (what == 3) input.view.set_state(link, LinkState::degraded);
        if (what == 4) input.view.set_state(link, LinkState::up);
        if (what == 5) input.view.set_drained(link, !input.view.drained(link));
      }
      if (random() % 10 == 0) {
        const SwitchId sw(random() % topology->switches().size());
        input.view.set_drained(sw, !input.view.drained(sw));
      }
      routing = engine.reroute(routing, input).value();
      expect_same(routing, engine.route(input).value(),
                  "seed " + std::to_string(seed) + " step " + std::to_string(step));
    }
    if (seed % 25 == 0) {
      FabricView view = input.view;  // no transit over a link of infinite cost, as over a drained one
      for (const LinkId link : topology->links()) {
        if (input.link_cost && std::isinf((*input.link_cost)[link.index()])) view.set_drained(link, true);
      }
      const auto naive = check_naively(view, routing);
      EXPECT_EQ(naive.failed, 0U) << "seed " << seed << ": " << naive.text();
      EXPECT_FALSE(naive.credit_loop) << "seed " << seed;
    }
    // With everything repaired the tables are those of the healthy fabric.
    input.view = whole;
    expect_same(engine.reroute(routing, input).value(), healthy, "seed " + std::to_string(seed) + " repaired");
    if (HasFailure()) break;
  }
}

TEST(Reroute, EqualsRoutingFromScratchOnALargerTreeLinkByLink) {
  const auto topology = testing::make_fat_tree({.hosts_per_leaf = 6,
                                                .leaves_per_pod = 6,
                                                .spines_per_pod = 6,
                                                .pods = 6,
                                                .cores_per_spine = 6,
                                                .aggregation_nodes = true,
                                                .guid_seed = 3});
  RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
  const RoutingEngine& engine = *find_engine("fat-tree");
  const Routing healthy = engine.route(input).value();
  Routing routing = healthy;
  std::mt19937_64 random(5);
  std::vector<LinkId> down;
  for (int step = 0; step < 40; ++step) {
    if (down.size() > 8 && random() % 2 == 0) {
      input.view.set_state(down.back(), LinkState::up);
      down.pop_back();
    } else {
      const LinkId link(random() % topology->links().size());
      input.view.set_state(link, LinkState::down);
      down.push_back(link);
    }
    routing = engine.reroute(routing, input).value();
    expect_same(routing, engine.route(input).value(), "step " + std::to_string(step));
  }
  EXPECT_TRUE(audit(input.view, routing.tables, routing.lanes).verified());
  for (const LinkId link : down) input.view.set_state(link, LinkState::up);
  expect_same(engine.reroute(routing, input).value(), healthy, "repaired");
}

TEST(Reroute, IsDeterministicWithEveryEngine) {
  ASSERT_FALSE(routing_engines().empty());
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto topology = build(seed % 2 == 0 ? random_graph(seed) : random_tree(seed));
    RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
    for (const RoutingEngine* engine : routing_engines()) {
      const auto one = engine->route(input);
      if (!one) continue;  // an engine for other topologies
      const std::string what = std::string(engine->name()) + " seed " + std::to_string(seed);
      expect_same(*one, engine->route(input).value(), what);
      RoutingInput broken = input;
      broken.view.set_state(LinkId(seed % topology->links().size()), LinkState::down);
      const auto rerouted = engine->reroute(*one, broken);
      if (rerouted) expect_same(*rerouted, engine->route(broken).value(), what);
    }
  }
}

}  // namespace
}  // namespace railweave::fabric
