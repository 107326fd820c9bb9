// Moving single hops off the fullest links, against packets that are followed one by one, on trees that lost cables.
#include "fabric/routing/up_down/load_shift.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/up_down/host_load.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/table_fill.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/routing/followed.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric::load_shift_test {
namespace {

using testing::build;
using testing::follow;
using testing::input_of;
using testing::make_fat_tree;
using testing::random_tree;

// The tables of the closed form, with what may be used instead.
struct Started {
  explicit Started(const RoutingInput& input, const Plane& of)
      : plane(of),
        plan(plan_plane(*input.scope, plane, {}, {.balance = false})),
        pairs(pair_weights(plane)),
        tables(TableFill(plane, cabled_plane(plane), plan.directions, plan.reach, plan.nominal).all()) {}

  [[nodiscard]] DirectedReach on() const { return {plan.order, plan.directions, plan.reach}; }

  const Plane& plane;
  PlanePlan plan;
  std::vector<std::uint32_t> pairs;
  PlaneTables tables;
};

TEST(LoadShift, LoadsAreThoseOfPacketsFollowedOneByOneAndNeverMore) {
  std::size_t gained = 0, bound = 0, planes = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto sketch = random_tree(seed);
    for (std::size_t i = 0; seed % 3 == 0 && i < sketch.cables.size(); ++i) {
      sketch.cable_specs.push_back(infiniband_link(4, (seed + i) % 4 == 0 ? LinkSpeed::hdr : LinkSpeed::ndr));
    }
    const RoutingInput input = input_of(build(sketch));
    std::mt19937_64 random(seed);
    for (const PlaneId id : input.scope->planes()) {
      const Started from(input, input.scope->plane(id));
      std::vector<std::uint32_t> weights;
      for (std::size_t d = 0; seed % 2 == 0 && d < from.plane.destination_count(); ++d) {
        weights.push_back(d == 0 ? 1024 : 1 + static_cast<std::uint32_t>(random() % 1024));
      }
      const auto shifted = shift_loads(from.plane, from.on(), from.pairs, from.tables, weights);
      const auto before = follow(from.plane, from.plan.reach, from.tables, from.pairs, weights);
      if (before.dropped) continue;
      ASSERT_TRUE(shifted) << "seed " << seed;
      const auto after = follow(from.plane, from.plan.reach, shifted->tables, from.pairs, weights);
      ASSERT_FALSE(after.dropped) << "seed " << seed;
      ASSERT_EQ(shifted->start_load, before.fullest) << "seed " << seed;
      ASSERT_EQ(shifted->max_load, after.fullest) << "seed " << seed;
      ASSERT_LE(after.fullest, before.fullest) << "seed " << seed;
      ASSERT_GE(after.fullest, shifted->least_load) << "seed " << seed;
      gained += after.fullest < before.fullest ? 1 : 0;
      bound += is_even_enough(after.fullest, shifted->least_load) ? 1 : 0;
      ++planes;
      const auto same = shift_loads(from.plane, from.on(), from.pairs, from.tables, weights, 0);
      ASSERT_TRUE(same && same->tables == from.tables && same->max_load == before.fullest) << "seed " << seed;
    }
  }
  EXPECT_GT(planes, 100U);
  EXPECT_GT(gained, 30U);
  EXPECT_GT(bound, 20U);
}

// Not by numbers of switches or ports: what is left after one cable in fifty was taken away is filled nearly evenly.
TEST(LoadShift, ATreeThatLostCablesIsFilledNearlyAsWellAsItsTightestLeafAllows) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto topology = make_fat_tree({.hosts_per_leaf = 8,
                                         .leaves_per_pod = 8,
                                         .spines_per_pod = 8,
                                         .pods = 6,
                                         .cores_per_spine = 8,
                                         .guid_seed = seed});
    RoutingInput input = input_of(topology);
    const Plane& plane = input.scope->plane(*input.scope->planes().begin());
    LivePlane live = cabled_plane(plane);
    std::mt19937_64 random(seed);
    for (std::uint32_t a = 0; a < plane.arcs.size(); ++a) {
      if (random() % 100 == 0) live.usable[a] = live.usable[plane.arcs[a].reverse] = 0;
    }
    const PlanePlan plan = plan_plane(*input.scope, plane, {}, {.balance = false});
    const OrderedReach on = reach_on(plane, live, plan.order);
    const PlaneTables tables = TableFill(plane, live, on.directions, on.reach, plan.nominal).all();
    const auto pairs = pair_weights(plane);
    const auto shifted = shift_loads(plane, {on.order, on.directions, on.reach}, pairs, tables, {});
    ASSERT_TRUE(shifted);
    // The bound counts cables as they were: a leaf that lost one of eight must fill the others by a seventh more.
    const auto lost = static_cast<std::uint64_t>(std::ranges::count(live.usable, 0)) / 2;
    ASSERT_GT(lost, 3U);
    EXPECT_LE(shifted->max_load, shifted->least_load * 8 / 6 + shifted->least_load / 32) << "seed " << seed;
    EXPECT_LT(shifted->max_load, shifted->start_load) << "seed " << seed;
    EXPECT_EQ(shifted->max_load, follow(plane, on.reach, shifted->tables, pairs).fullest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace railweave::fabric::load_shift_test
