// Jobs over several NVLink domains are split about evenly where that is faster: a ring is as slow as the domain in which
// it has the fewest adapters.
#include "scheduler/placement/search/even_splits.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "small_fabric.h"

namespace railweave::scheduler::even_splits_test {
namespace {

using fabric::GpuId;
using testing_support::below;
using testing_support::CabledPlan;
using testing_support::Random;
using Amounts = std::vector<std::uint64_t>;

TEST(EvenParts, AreAsEqualAsCapacitiesAllow) {
  EXPECT_EQ(even_parts({18, 18, 18, 18}, 55), (Amounts{14, 14, 14, 13}));
  EXPECT_EQ(even_parts({18, 4, 18}, 30), (Amounts{13, 4, 13}));
  EXPECT_EQ(even_parts({3, 3}, 6), (Amounts{3, 3}));
  EXPECT_EQ(even_parts({3, 2}, 6), Amounts{});
  Random random(7);
  for (int i = 0; i < 500; ++i) {
    Amounts capacity(1 + below(random, 6));
    for (auto& one : capacity) one = below(random, 9);
    const std::uint64_t sum = std::accumulate(capacity.begin(), capacity.end(), std::uint64_t{0});
    const std::uint64_t amount = below(random, sum + 1);
    const Amounts parts = even_parts(capacity, amount);
    ASSERT_EQ(parts.size(), capacity.size());
    ASSERT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}), amount);
    for (std::size_t a = 0; a < parts.size(); ++a) {
      ASSERT_LE(parts[a], capacity[a]);
      // What is more than one above another one could have given to it.
      for (std::size_t b = 0; b < parts.size(); ++b) ASSERT_TRUE(parts[a] <= parts[b] + 1 || parts[b] == capacity[b]);
    }
  }
}

// `racks` NVLink domains of `trays` hosts of four GPUs, one leaf group and pod.
PlacementFabricPtr racks_of_trays(unsigned racks, unsigned trays) {
  CabledPlan plan;
  plan.leaf_uplinks = 8;
  for (unsigned rack = 0; rack < racks; ++rack) {
    for (unsigned tray = 0; tray < trays; ++tray) {
      plan.hosts.push_back({.domain_of_gpu = std::vector<int>(4, static_cast<int>(rack))});
    }
  }
  return plan.build();
}

Amounts by_domain(const PlacementFabric& fabric, const Placement& placement) {
  std::map<std::uint32_t, std::uint64_t> domains;
  for (const GpuId gpu : placement.gpu_of_rank) ++domains[fabric.bundles().place(gpu).unit];
  Amounts amounts;
  for (const auto& [domain, gpus] : domains) amounts.push_back(gpus);
  std::ranges::sort(amounts, std::greater{});
  return amounts;
}

JobSpec gradients(Parallelism parallelism) {
  JobSpec spec;
  spec.parallelism = parallelism;
  TrafficSpec traffic;
  traffic.data = {8e9, 1};
  spec.traffic = traffic;
  return spec;
}

Amounts placed(const PlacementFabricPtr& fabric, const JobSpec& spec) {
  Placer placer(fabric);
  const auto placement = placer.try_place(spec);
  if (!placement) return {};
  return by_domain(*fabric, *placement);
}

TEST(EvenSplits, OverDomains) {
  const auto two = racks_of_trays(2, 18);
  EXPECT_EQ(placed(two, gradients({.tensor = 4, .data = 19})), (Amounts{40, 36}));
  EXPECT_EQ(placed(two, gradients({.data = 96})), (Amounts{48, 48}));
  const auto three = racks_of_trays(3, 17);
  EXPECT_EQ(placed(three, gradients({.data = 144})), (Amounts{48, 48, 48}));
  EXPECT_EQ(placed(three, gradients({.tensor = 4, .data = 38})), (Amounts{52, 52, 48}));
  // In one domain where one holds it.
  EXPECT_EQ(placed(three, gradients({.tensor = 4, .data = 17})), Amounts{68});
}

TEST(EvenSplits, OfEachStageOverDomainsOfItsOwn) {
  const auto six = racks_of_trays(6, 18);
  EXPECT_EQ(placed(six, gradients({.tensor = 4, .data = 19, .pipeline = 3})), (Amounts{40, 40, 40, 36, 36, 36}));
}

TEST(EvenSplits, OverPartlyFullHosts) {
  CabledPlan plan;
  for (int host = 0; host < 3; ++host) plan.hosts.push_back({.domain_of_gpu = std::vector<int>(8, host)});
  const auto fabric = plan.build();
  Allocations allocations = no_allocations(fabric->topology());
  allocations.write(1).used = 0x03;  // 8, 6 and 4 are free
  allocations.write(2).used = 0x0f;
  Placer placer(fabric);
  placer.sync(allocations);
  const auto placement = placer.try_place(gradients({.data = 10}));
  ASSERT_TRUE(placement);
  EXPECT_EQ(by_domain(*fabric, *placement), (Amounts{5, 5}));
  // On the rails that both hosts have: no ring crosses a spine, where its flows could meet on one link.
  std::map<std::uint32_t, int> hosts_on_rail;
  for (const GpuId gpu : placement->gpu_of_rank) ++hosts_on_rail[fabric->bundles().place(gpu).rail];
  for (const auto& [rail, hosts] : hosts_on_rail) EXPECT_EQ(hosts, 2) << "rail " << rail;
}

// Whatever the free GPUs: never slower than the same job under a cap per domain, which users had to find themselves.
TEST(EvenSplits, AreNoSlowerThanAnyCapPerDomain) {
  const auto fabric = racks_of_trays(4, 6);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const auto on = testing_support::partly_full(random, fabric, 0.05 * static_cast<double>(below(random, 8)), 96);
    const std::uint32_t tensor = 1U << below(random, 3);
    const std::uint64_t blocks = on.free.size() / tensor * (3 + below(random, 5)) / 8;
    if (blocks < 2) continue;
    JobSpec spec = gradients({.tensor = tensor, .data = static_cast<std::uint32_t>(blocks)});
    Placer placer(fabric);
    placer.sync(on.allocations);
    testing_support::Ruler ruler(*fabric, spec);
    const auto chosen = placer.try_place(spec);
    if (!chosen) continue;
    const double reached = ruler(chosen->gpu_of_rank);
    for (std::uint64_t cap = tensor; cap <= 24; cap += tensor) {
      spec.spread = SpreadLimit{.level = fabric::LevelKind::nvlink_domain, .max_gpus_per_group = cap};
      const auto capped = placer.try_place(spec);
      if (!capped) continue;
      EXPECT_LE(reached, ruler(capped->gpu_of_rank) * 1.011) << "seed " << seed << " cap " << cap;
    }
  }
}

}  // namespace
}  // namespace railweave::scheduler::even_splits_test
