// The load that pairs of hosts put on the fullest link, against packets that are followed one by one, on random trees.
#include "fabric/routing/up_down/host_load.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/table_fill.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::input_of;
using testing::random_tree;

struct Followed {
  std::uint64_t fullest = 0;
  bool dropped = false;
};

Followed follow(const Plane& plane, const Reach& reach, const PlaneTables& tables,
                const std::vector<std::uint32_t>& weight) {
  Followed found;
  std::vector<std::uint64_t> load(plane.arcs.size(), 0);
  for (const Home& from : plane.homes) {
    for (std::size_t h = 0; h < plane.homes.size(); ++h) {
      for (const Segment& segment : plane.segments_of(plane.homes[h])) {
        if (segment.kind != DestinationKind::host || from.host_ports == 0 || reach.total(from.sw)[h] == kUnreachable)
          continue;
        for (std::uint32_t d = segment.first; d < segment.first + segment.count; ++d) {
          for (std::uint32_t s = from.sw; s != plane.homes[h].sw;) {
            const auto arcs = plane.arcs_of(s);
            const auto at = std::ranges::find(arcs, tables.at(s, d), &Arc::port);
            if (at == arcs.end()) {
              found.dropped = true;
              break;
            }
            const std::size_t a = plane.first_arc[s] + static_cast<std::size_t>(at - arcs.begin());
            load[a] += std::uint64_t{from.host_ports} * weight[a];
            s = at->to;
          }
        }
      }
    }
  }
  if (!load.empty()) found.fullest = std::ranges::max(load);
  return found;
}

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
          ASSERT_GE(found, least_load(plane, weight, {})) << "seed " << seed;
          above += is_even_enough(found, least_load(plane, weight, {})) ? 0 : 1;
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
