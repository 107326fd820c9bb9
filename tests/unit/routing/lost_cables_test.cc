// Trees that were cabled without some of their links: free of circles, no fuller than the closed form alone leaves them, and with just the
// entries that are found one by one, against packets that are followed.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/plane_state.h"
#include "fabric/routing/up_down/table_fill.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/routing/followed.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric::lost_cables_test {
namespace {

using testing::check_naively;
using testing::FatTreeShape;
using testing::follow;
using testing::input_of;
using testing::make_fat_tree;
using testing::routed;

FatTreeShape random_shape(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto from_to = [&](unsigned least, unsigned most) {
    return least + static_cast<unsigned>(random() % (most - least + 1));
  };
  FatTreeShape shape{.hosts_per_leaf = from_to(2, 5), .leaves_per_pod = from_to(2, 4), .spines_per_pod = from_to(2, 4)};
  shape.pods = from_to(2, 4);
  shape.cores_per_spine = from_to(0, 3);
  shape.leaf_cables = from_to(1, 2);
  shape.aggregation_nodes = seed % 3 == 0;
  shape.guid_seed = seed;
  shape.lost_permille = from_to(10, 150);
  return shape;
}

// Each entry by itself, from the next hops there are to its home.
std::size_t entries_that_differ(const Plane& plane, const PlaneState& state, const PlaneTables& tables) {
  TableFill single(plane, state.live, state.directions, state.reach, state.plan->nominal);
  std::vector<std::uint16_t> ports;
  std::size_t differ = 0;
  for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t home = 0; home < plane.homes.size(); ++home) {
      single.block(s, home, ports);
      for (std::uint32_t i = 0; i < ports.size(); ++i) {
        differ += ports[i] != tables.at(s, plane.homes[home].first + i) ? 1 : 0;
      }
    }
  }
  return differ;
}

TEST(LostCables, TreesHaveNoCirclesAndAreNoFullerThanTheClosedFormAlone) {
  std::size_t fewer = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RoutingInput input = input_of(make_fat_tree(random_shape(seed)));
    const Routing routing = routed(input);
    const auto found = check_naively(input.view, routing);
    ASSERT_EQ(found.failed, 0U) << "seed " << seed << ": " << found.text();
    ASSERT_FALSE(found.credit_loop) << "seed " << seed;
    for (const PlaneId id : input.scope->planes()) {
      const Plane& plane = input.scope->plane(id);
      const PlanePlan plain = plan_plane(*input.scope, plane, {}, {.trees_only = true, .balance = false});
      const LivePlane live = cabled_plane(plane);
      const PlaneTables closed = TableFill(plane, live, plain.directions, plain.reach, plain.nominal).all();
      const auto pairs = pair_weights(plane);
      const auto alone = follow(plane, plain.reach, closed, pairs);
      const auto now = follow(plane, plain.reach, routing.tables.plane(id), pairs);
      ASSERT_FALSE(alone.dropped || now.dropped) << "seed " << seed;
      ASSERT_LE(now.fullest, alone.fullest) << "seed " << seed;
      fewer += now.fullest < alone.fullest ? 1 : 0;
      ++compared;
    }
  }
  EXPECT_GT(compared, 50U);
  EXPECT_GT(fewer, 20U);
}

TEST(LostCables, EveryEntryIsTheOneThatIsFoundByItself) {
  std::size_t balanced = 0, cut_further = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RoutingInput input = input_of(make_fat_tree(random_shape(seed)));
    std::mt19937_64 random(seed);
    for (const PlaneId id : input.scope->planes()) {
      const Plane& plane = input.scope->plane(id);
      const PlanChoice choice{.trees_only = true, .balance = seed % 4 != 0};
      const auto plan = std::make_shared<const PlanePlan>(plan_plane(*input.scope, plane, {}, choice));
      LivePlane live = cabled_plane(plane);
      const PlaneState whole = fresh_state(plane, plan, live);
      ASSERT_EQ(entries_that_differ(plane, whole, tables_of(plane, whole, 1)), 0U) << "seed " << seed;
      balanced += plan->nominal.table.destinations() > 0 ? 1 : 0;
      for (std::uint32_t a = 0; a < plane.arcs.size(); ++a) {
        if (random() % 20 == 0) live.usable[a] = live.usable[plane.arcs[a].reverse] = 0;
      }
      if (seed % 5 == 0) live.cost.assign(plane.arcs.size(), 2.0F);
      const PlaneState cut = fresh_state(plane, plan, live);
      ASSERT_EQ(entries_that_differ(plane, cut, tables_of(plane, cut, 1)), 0U) << "seed " << seed;
      cut_further += std::ranges::count(live.usable, 0) > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(balanced, 20U);
  EXPECT_GT(cut_further, 40U);
}

}  // namespace
}  // namespace railweave::fabric::lost_cables_test
