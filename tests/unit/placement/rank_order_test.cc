// The best order of ranks that is found for given GPUs, against every order there is on small irregular fabrics.
#include "scheduler/placement/rank_order.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/placer.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/placement/planned_fabric.h"

namespace railweave::scheduler::rank_order_test {
namespace {

using fabric::GpuId;
using testing_support::below;
using testing_support::Random;

// Hosts of four GPUs on four rails, domains of two hosts, racks of four; and one GPU to a host below narrow uplinks.
PlacementFabricPtr fabric_of(std::uint64_t seed) {
  if (seed % 3 == 0) {
    return std::make_shared<const PlacementFabric>(fabric::testing::make_fat_tree({.hosts_per_leaf = 4,
                                                                                   .leaves_per_pod = 2,
                                                                                   .spines_per_pod = 1,
                                                                                   .pods = 2,
                                                                                   .cores_per_spine = 1,
                                                                                   .gpus_per_host = 1}));
  }
  auto topology = fabric::generate("rail-optimized", {{"hosts", "6"},
                                                      {"gpus-per-host", "4"},
                                                      {"planes", "4"},
                                                      {"nvlink-domain", seed % 3 == 1 ? "8" : "4"},
                                                      {"hosts-per-unit", "4"}});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
}

double time_of(Placer& placer, const JobSpec& spec, const std::vector<GpuId>& order) {
  const Prediction predicted = placer.predict(spec, order);
  return predicted.step_us.value_or(predicted.communication_us);
}

// The least time of all orders.
double least_of_all(Placer& placer, const JobSpec& spec, std::vector<GpuId> order) {
  std::ranges::sort(order);
  double least = time_of(placer, spec, order);
  while (std::ranges::next_permutation(order).found) least = std::min(least, time_of(placer, spec, order));
  return least;
}

JobSpec random_job(Random& random, std::size_t ranks) {
  JobSpec spec;
  const auto factor = [&](std::uint32_t of) {
    const std::uint32_t wanted = 1U << below(random, 3);
    return of % wanted == 0 ? wanted : 1U;
  };
  auto left = static_cast<std::uint32_t>(ranks);
  spec.parallelism.tensor = factor(left);
  left /= spec.parallelism.tensor;
  spec.parallelism.pipeline = factor(left);
  spec.parallelism.data = left / spec.parallelism.pipeline;
  spec.traffic = TrafficSpec{.tensor = {.bytes = 1e9 * static_cast<double>(1 + below(random, 4)), .calls = 2},
                             .data = {.bytes = 1e9 * static_cast<double>(1 + below(random, 4)), .calls = 1},
                             .pipeline = {.bytes = 1e8 * static_cast<double>(1 + below(random, 9)), .calls = 4}};
  return spec;
}

TEST(RankOrder, IsTheBestOfAllOrdersOfSmallJobs) {
  std::size_t bettered = 0;
  std::size_t tried = 0;
  std::size_t reachable = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Random random(seed);
    const auto fabric = fabric_of(seed);
    const auto& topology = fabric->topology();
    std::vector<GpuId> gpus(topology.gpus().begin(), topology.gpus().end());
    const std::size_t ranks = seed % 10 == 0 ? 8 : 4 + 2 * below(random, 2);
    if (gpus.size() < ranks) continue;
    std::ranges::shuffle(gpus, random);
    gpus.resize(ranks);
    const JobSpec spec = random_job(random, ranks);
    Allocations allocations = no_allocations(topology);
    ASSERT_TRUE(take(allocations, topology, gpus));
    Placer placer(fabric);
    placer.sync(allocations);
    const RankOrder order = rank_order(placer, allocations, spec, gpus);
    ++tried;
    ASSERT_DOUBLE_EQ(order.present_us, time_of(placer, spec, gpus)) << "seed " << seed;
    const double least = least_of_all(placer, spec, gpus);
    if (std::isinf(least)) {  // some GPUs are joined to no others
      EXPECT_TRUE(std::isinf(order.best_us) && order.ranks.empty()) << "seed " << seed;
      continue;
    }
    ++reachable;
    ASSERT_NEAR(order.best_us, least, least * 1e-9) << "seed " << seed;
    ASSERT_EQ(order.ranks.empty(), !(least < order.present_us * 0.99)) << "seed " << seed;
    if (order.ranks.empty()) continue;
    ++bettered;
    std::vector<GpuId> better;
    for (const auto rank : order.ranks) better.push_back(gpus.at(rank));
    EXPECT_DOUBLE_EQ(time_of(placer, spec, better), order.best_us) << "seed " << seed;
    std::ranges::sort(better);
    std::ranges::sort(gpus);
    EXPECT_EQ(better, gpus) << "the same GPUs, seed " << seed;
  }
  EXPECT_GT(tried, 30U);
  EXPECT_GT(reachable, 40U);
  EXPECT_GT(bettered, 20U);
}

TEST(RankOrder, APlacementOfThePlacersOwnIsNotBettered) {
  Random random(7);
  std::size_t tried = 0;
  for (int i = 0; i < 40; ++i) {
    const auto fabric = fabric_of(static_cast<std::uint64_t>(i));
    Placer placer(fabric);
    Allocations allocations = no_allocations(fabric->topology());
    placer.sync(allocations);
    const JobSpec spec = random_job(random, 4);
    const auto placed = placer.try_place(spec);
    if (!placed) continue;
    ASSERT_TRUE(take(allocations, fabric->topology(), placed->gpu_of_rank));
    placer.sync(allocations);
    const RankOrder order = rank_order(placer, allocations, spec, placed->gpu_of_rank);
    EXPECT_LE(order.best_us, order.present_us);
    ++tried;
  }
  EXPECT_GT(tried, 10U);
}

TEST(RankOrder, LeavesTheTreeOfThePlacerAsItWas) {
  const auto fabric = testing_support::regular_fabric(8, 8, {{fabric::LevelKind::cluster, 8}}).build();
  const auto& topology = fabric->topology();
  std::vector<GpuId> gpus;
  for (std::uint32_t i = 0; i < 64; i += 2) gpus.emplace_back(i);
  Allocations allocations = no_allocations(topology);
  ASSERT_TRUE(take(allocations, topology, gpus));
  Placer placer(fabric);
  placer.sync(allocations);
  JobSpec spec;
  spec.parallelism.data = 32;
  const auto before = placer.try_place(spec);
  (void)rank_order(placer, allocations, spec, gpus);
  const auto after = placer.try_place(spec);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->gpu_of_rank, after->gpu_of_rank);
}

}  // namespace
}  // namespace railweave::scheduler::rank_order_test
