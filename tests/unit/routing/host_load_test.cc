// The load that pairs of hosts put on the fullest link, against packets that are followed one by one, on random trees.
#include "fabric/routing/up_down/host_load.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/table_fill.h"
#include "tests/unit/routing/followed.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::follow;
using testing::Followed;
using testing::input_of;
using testing::random_tree;

// The same tables with an entry of one switch that drops packets.
PlaneTables without_one(const PlaneTables& tables, const Plane& plane, std::uint64_t seed) {
  PlaneTables broken(tables.switches(), tables.destinations(), plane.max_ports);
  std::vector<std::uint16_t> row(tables.destinations());
  for (std::size_t s = 0; s < tables.switches(); ++s) {
    tables.read(s, 0, row.size(), row.data());
    if (s == seed % tables.switches() && !row.empty()) row[seed % row.size()] = UINT16_MAX;
    auto* to = broken.fresh_row<std::uint8_t>(s);
    for (std::size_t d = 0; d < row.size(); ++d) to[d] = static_cast<std::uint8_t>(row[d]);
  }
  return broken;
}

TEST(HostLoad, IsThatOfPacketsFollowedOneByOne) {
  std::size_t planes = 0, dropped = 0, above = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    auto sketch = random_tree(seed);
    if (seed % 3 == 0) {
      for (std::size_t i = 0; i < sketch.cables.size(); ++i) {
        sketch.cable_specs.push_back(infiniband_link(4, (seed + i) % 4 == 0 ? LinkSpeed::hdr : LinkSpeed::ndr));
      }
    }
    const RoutingInput input = input_of(build(sketch));
    for (const PlaneId id : input.scope->planes()) {
      const Plane& plane = input.scope->plane(id);
      const PlanePlan plan = plan_plane(*input.scope, plane, {}, {.balance = seed % 2 == 0});
      const auto weight = pair_weights(plane);
      PlaneTables tables = TableFill(plane, cabled_plane(plane), plan.directions, plan.reach, plan.nominal).all();
      const auto check = [&] {
        const Followed wanted = follow(plane, plan.reach, tables, weight);
        const std::uint64_t found = fullest_load(plane, plan.reach, tables, weight);
        ASSERT_EQ(found, wanted.dropped ? UINT64_MAX : wanted.fullest) << "seed " << seed;
        dropped += wanted.dropped ? 1 : 0;
        if (!wanted.dropped) {
          const std::uint64_t least = least_load(plane, {plan.order, plan.directions, plan.reach}, weight, {});
          ASSERT_GE(found, least) << "seed " << seed;
          const NextHops hops = NextHops::up_down(plane, plan.directions, plan.reach);
          EXPECT_GE(least, least_load(plane, hops, weight, {}))
              << "which counts links that carry nothing, seed " << seed;
          above += is_even_enough(found, least) ? 0 : 1;
        }
      };
      check();
      tables = without_one(tables, plane, seed);
      check();
      ++planes;
    }
  }
  EXPECT_GT(planes, 100U);
  EXPECT_GT(above, 20U) << "irregular trees are not even";
  EXPECT_GT(dropped, 50U);
}

}  // namespace
}  // namespace railweave::fabric
