#include "fabric/routing/up_down/up_down_engine.h"

#include <random>

#include <gtest/gtest.h>

#include "fabric/routing/audit/audit.h"
#include "tests/support/fat_trees.h"
#include "tests/support/seeds.h"
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

const UpDownEngine kFatTree(UpDownEngine::Flavor::fat_tree);
const UpDownEngine kUpDown(UpDownEngine::Flavor::up_down);

void expect_verified(const FabricView& view, const Routing& routing, const std::string& what) {
  const auto naive = check_naively(view, routing);
  EXPECT_EQ(naive.failed, 0U) << what << ": " << naive.text();
  EXPECT_EQ(naive.unreachable, naive.disconnected) << what;
  EXPECT_EQ(naive.unmanaged, 0U) << what << ": nothing has failed";
  EXPECT_FALSE(naive.credit_loop) << what;
}

// One to three random changes.
void change(FabricView& view, std::mt19937_64& random) {
  const Topology& t = view.topology();
  for (std::size_t n = 1 + random() % 3; n > 0; --n) {
    const LinkId link(random() % t.links().size());
    switch (random() % 8) {
      case 0:
        view.set_state(link, LinkState::degraded);
        break;
      case 1:
        view.set_drained(link, !view.drained(link));
        break;
      case 2: {
        const SwitchId sw(random() % t.switches().size());
        view.set_drained(sw, !view.drained(sw));
        break;
      }
      case 3:
      case 4:
      case 5:
        view.set_state(link, LinkState::down);
        break;
      default:
        view.set_state(link, LinkState::up);
        break;
    }
  }
}

TEST(UpDownEngine, RoutesUntidyTreesCompletelyAndWithoutCreditLoops) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto topology = build(random_tree(seed));
    const RoutingInput input = input_of(topology);
    for (const RoutingEngine* engine : {&kFatTree, &kUpDown}) {
      const auto routing = engine->route(input);
      ASSERT_TRUE(routing.has_value());
      expect_verified(input.view, *routing, "seed " + std::to_string(seed));
      EXPECT_EQ(routing->lanes.used(), 1U);
    }
    if (HasFailure()) break;
  }
}

TEST(UpDownEngine, RoutesRandomGraphsCompletelyAndWithoutCreditLoops) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto topology = build(random_graph(seed));
    const RoutingInput input = input_of(topology, {.switch_management = seed % 3 == 0});
    for (const RoutingEngine* engine : {&kFatTree, &kUpDown}) {
      expect_verified(input.view, engine->route(input).value(), "seed " + std::to_string(seed));
    }
    if (HasFailure()) break;
  }
}

// A leaf that loses a cable to a spine loses its route to the spine's management port; other routes do not change.
TEST(UpDownEngine, SwitchesAsDestinationsMoveNoOtherRoutes) {
  const auto topology = make_fat_tree({.hosts_per_leaf = 6, .leaves_per_pod = 6, .spines_per_pod = 6});
  RoutingInput input = input_of(topology, {.switch_management = true}), hosts = input_of(topology);
  const Routing healthy = kFatTree.route(input).value(), healthy_hosts = kFatTree.route(hosts).value();
  std::size_t unmanaged = 0;
  for (const LinkId link : topology->links()) {
    if (!topology->joins_switches(link)) continue;
    input.view.set_state(link, LinkState::down);
    hosts.view.set_state(link, LinkState::down);
    const Routing routing = kFatTree.reroute(healthy, input).value();
    EXPECT_TRUE(routing.incremental);
    EXPECT_LE(routing.changed_entries,
              kFatTree.reroute(healthy_hosts, hosts).value().changed_entries + 2 * topology->switches().size());
    const auto naive = check_naively(input.view, routing);
    EXPECT_EQ(naive.failed, 0U);
    EXPECT_FALSE(naive.credit_loop);
    unmanaged += naive.unmanaged;
    input.view.set_state(link, LinkState::up);
    hosts.view.set_state(link, LinkState::up);
  }
  EXPECT_GT(unmanaged, 0U);
}

TEST(UpDownEngine, ReroutesByteForByteAsItRoutes) {
  std::size_t incremental = 0, reroutes = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(2000); ++seed) {
    const auto topology = build(seed % 4 == 0 ? random_graph(seed) : random_tree(seed));
    RoutingInput input = input_of(topology);
    const RoutingEngine& engine = seed % 2 == 0 ? kFatTree : kUpDown;
    std::mt19937_64 random(seed);
    Routing routing = engine.route(input).value();
    for (int step = 0; step < 6; ++step) {
      change(input.view, random);
      routing = engine.reroute(routing, input).value();
      ++reroutes;
      incremental += routing.incremental ? 1 : 0;
      const Routing whole = engine.route(input).value();
      ASSERT_TRUE(routing.tables == whole.tables) << "seed " << seed << " step " << step;
      ASSERT_EQ(routing.tables.digest(), whole.tables.digest());
    }
    if (seed % 10 == 0) expect_verified(input.view, routing, "seed " + std::to_string(seed));
    if (HasFailure()) break;
  }
  EXPECT_GT(incremental * 4, reroutes) << "hardly any reroute was incremental";
}

}  // namespace
}  // namespace railweave::fabric
