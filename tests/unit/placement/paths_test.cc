// Jobs and the paths between their ranks: on networks that nothing joins, against counting by hand; and where links fail.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planned_fabric.h"
#include "scheduler/placement/placer.h"
#include "tests/support/fat_trees.h"

namespace railweave::scheduler::paths_test {
namespace {

using fabric::GpuId;
using ::testing::HasSubstr;
using namespace testing_support;

// Each GPU has an adapter of its own on the rail of its index, and each rail is a network.
PlannedFabric rail_only(std::size_t hosts, unsigned gpus, bool nvlink) {
  PlannedFabric plan = regular_fabric(hosts, gpus, {});
  plan.rails_apart = true;
  for (auto& host : plan.hosts) {
    if (!nvlink) host.domain_of_gpu.assign(gpus, -1);
    for (unsigned rail = 0; rail < gpus; ++rail) {
      host.rail_of_nic.push_back(rail);
      host.nics_of_gpu.push_back({rail});
    }
  }
  return plan;
}

JobSpec one_per_node(std::uint32_t ranks) {
  JobSpec spec;
  spec.parallelism.data = ranks;
  spec.gpus_per_node = 1;
  return spec;
}

// One GPU on each node has no neighbour to send through: all have to be on one rail. Placed exactly where some rail has
// enough nodes with its GPU free.
TEST(Paths, RailsThatNothingJoinsCarryAJobOnOneRailOrNone) {
  int placed = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const auto fabric = rail_only(2 + below(random, 6), 4, below(random, 2) == 0).build();
    const Allocations allocations = random_allocations(random, *fabric, 0.2 + 0.15 * below(random, 4));
    Placer placer(fabric);
    placer.sync(allocations);
    const auto ranks = static_cast<std::uint32_t>(2 + below(random, 3));
    std::map<unsigned, unsigned> nodes_of_rail;
    unsigned nodes = 0;
    for (const auto host : fabric->topology().hosts()) {
      const HostAllocation& allocation = allocations[host.index()];
      if (allocation.unavailable || (allocation.used & 0xFU) == 0xFU) continue;
      ++nodes;
      for (unsigned rail = 0; rail < 4; ++rail) nodes_of_rail[rail] += (allocation.used >> rail & 1U) == 0 ? 1 : 0;
    }
    unsigned most = 0;
    for (const auto& [rail, count] : nodes_of_rail) most = std::max(most, count);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto result = placer.place(one_per_node(ranks));
    const auto tried = placer.try_place(one_per_node(ranks));
    ASSERT_EQ(result.outcome == Outcome::placed, tried.has_value());
    ASSERT_EQ(result.outcome == Outcome::placed, most >= ranks);
    if (result.outcome == Outcome::placed) {
      ++placed;
      std::set<unsigned> rails;
      for (const GpuId gpu : result.placement.gpu_of_rank) rails.insert(fabric->topology().local_index(gpu));
      EXPECT_EQ(rails.size(), 1U);
      EXPECT_TRUE(result.placement.predicted->reachable);
    } else if (nodes >= ranks) {
      ++refused;
      EXPECT_EQ(result.outcome, Outcome::not_now);
      EXPECT_EQ(result.explanation.code, "jobs.unreachable");
      EXPECT_THAT(result.explanation.message, HasSubstr("no route from rank"));
    }
  }
  EXPECT_GT(placed, 40);
  EXPECT_GT(refused, 5);
}

// Neighbours in an NVLink domain lend their rails (PXN), so whole nodes always have paths.
TEST(Paths, WholeNodesReachEachOtherOverTheirOwnRails) {
  Placer placer(rail_only(4, 4, true).build());
  JobSpec spec;
  spec.parallelism = {.tensor = 4, .data = 2, .pipeline = 2};
  const auto result = placer.place(spec);
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_TRUE(result.placement.predicted->reachable);
  spec.parallelism = {.expert = 16};  // every rank to every other
  EXPECT_EQ(placer.place(spec).outcome, Outcome::placed);
}

TEST(Paths, StructureThatNeverHasAPathIsNever) {
  PlannedFabric plan = rail_only(2, 1, true);
  plan.hosts[1].rail_of_nic = {1};
  Placer placer(plan.build());
  const auto result = placer.place(one_per_node(2));
  EXPECT_EQ(result.outcome, Outcome::never);
  EXPECT_EQ(result.explanation.code, "jobs.unreachable");
  EXPECT_FALSE(placer.try_place(one_per_node(2)));
}

// Two leaves that both keep uplinks, each to a spine of its own: only the view says that they are apart.
TEST(Paths, LinksThatAreDownCutJobsOff) {
  const auto topology = fabric::testing::make_fat_tree({.hosts_per_leaf = 2,
                                                        .leaves_per_pod = 2,
                                                        .spines_per_pod = 2,
                                                        .pods = 1,
                                                        .cores_per_spine = 0,
                                                        .gpus_per_host = 2});
  const auto fabric = std::make_shared<const PlacementFabric>(topology);
  fabric::FabricView view(topology);
  std::map<std::uint32_t, std::optional<fabric::SwitchId>> kept;  // the spine that each leaf keeps
  std::set<fabric::SwitchId> spines;
  for (const auto link : topology->links()) {
    if (!topology->joins_switches(link)) continue;
    auto leaf = topology->switch_of(topology->a(link)), spine = topology->switch_of(topology->b(link));
    if (topology->tier(leaf) > topology->tier(spine)) std::swap(leaf, spine);
    spines.insert(spine);
    auto& own = kept[leaf.value()];
    const bool taken = std::ranges::any_of(
        kept, [&](const auto& other) { return other.first != leaf.value() && other.second == spine; });
    if (!own && !taken) own = spine;
    if (own != spine) view.set_state(link, fabric::LinkState::down);
  }
  ASSERT_EQ(kept.size(), 2U);
  ASSERT_GE(spines.size(), 2U);
  Placer placer(fabric);
  JobSpec all;
  all.parallelism.data = 8;
  ASSERT_EQ(placer.place(all).outcome, Outcome::placed);
  placer.set_capacities(fabric->capacities_mbps(view));
  placer.set_parts(std::make_shared<const NetworkParts>(view, fabric->gpu_ports()));
  const auto result = placer.place(all);
  EXPECT_EQ(result.outcome, Outcome::not_now);
  EXPECT_EQ(result.explanation.code, "jobs.unreachable");
  JobSpec half;
  half.parallelism.data = 4;
  EXPECT_EQ(placer.place(half).outcome, Outcome::placed);
  placer.set_capacities(fabric->capacities_mbps(fabric::FabricView(topology)));
  placer.set_parts(nullptr);
  EXPECT_EQ(placer.place(all).outcome, Outcome::placed);
}

}  // namespace
}  // namespace railweave::scheduler::paths_test
