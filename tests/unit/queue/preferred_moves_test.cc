// Where a repair moves the ranks of a job that prefers nodes, against every other place for the same ranks: each assignment of them
// to the free GPUs of small, partly full fabrics. The enumeration shares no code with the repair; what a place takes is
// PlacementCostModel's to say, and what it leaves unmet is added up here.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/repair/repair.h"
#include "tests/support/seeds.h"
#include "tests/unit/placement/small_fabric.h"

namespace railweave::scheduler::preferred_moves_test {
namespace {

using fabric::GpuId;
using testing_support::below;
using testing_support::Random;

constexpr std::array<Parallelism, 6> kJobs{{{.data = 3},
                                            {.data = 5},
                                            {.tensor = 2, .data = 2},
                                            {.tensor = 2, .data = 3},
                                            {.tensor = 2, .data = 1, .pipeline = 2},
                                            {.data = 2, .pipeline = 2}}};

class EveryMove {
 public:
  EveryMove(const PlacementFabric& fabric, const JobSpec& spec) : fabric_(fabric), spec_(spec), ruler_(fabric, spec) {}

  double us(std::span<const GpuId> gpu_of_rank) {
    double percent = 0;
    for (const GpuId gpu : gpu_of_rank) {
      const std::string node(fabric_.topology().name(fabric_.topology().host(gpu)));
      for (const NodePreference& preference : spec_.prefer_nodes) {
        const bool named = std::ranges::find(preference.nodes, node) != preference.nodes.end();
        if (named == preference.avoid) percent += preference.weight;
      }
    }
    return ruler_(gpu_of_rank) * (1 + percent / 100 / static_cast<double>(gpu_of_rank.size()));
  }

  double best_us(std::vector<GpuId> gpu_of_rank, const std::vector<RankMove>& moved, std::vector<GpuId> free) {
    gpus_ = std::move(gpu_of_rank);
    free_ = std::move(free);
    moved_ = &moved;
    least_us_ = std::numeric_limits<double>::infinity();
    assign(0);
    return least_us_;
  }

 private:
  [[nodiscard]] bool tensor_groups_hold() const {
    const std::uint32_t tensor = spec_.parallelism.tensor;
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      const auto unit = [&](GpuId gpu) { return fabric_.bundles().place(gpu).unit; };
      if (unit(gpus_[rank]) != unit(gpus_[rank / tensor * tensor])) return false;
    }
    return true;
  }
  void assign(std::size_t at) {  // NOLINT(misc-no-recursion)
    if (at == moved_->size()) {
      if (tensor_groups_hold()) least_us_ = std::min(least_us_, us(gpus_));
      return;
    }
    for (std::size_t i = at; i < free_.size(); ++i) {
      std::swap(free_[at], free_[i]);
      gpus_[(*moved_)[at].rank] = free_[at];
      assign(at + 1);
      std::swap(free_[at], free_[i]);
    }
  }

  const PlacementFabric& fabric_;
  const JobSpec& spec_;
  testing_support::Ruler ruler_;
  std::vector<GpuId> gpus_, free_;
  const std::vector<RankMove>* moved_ = nullptr;
  double least_us_ = 0;
};

TEST(PreferredMoves, NoOtherPlaceForTheSameRanksIsWorthMuchMore) {
  constexpr double kMost = 1.02;
  int cases = 0, over = 0, better = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(1200); ++seed) {
    Random random(seed);
    const std::size_t hosts = 4 + below(random, 3);
    const auto plan = testing_support::random_cabled(random, hosts, 2 + 2 * static_cast<unsigned>(below(random, 2)),
                                                     static_cast<unsigned>(below(random, 4)));
    auto on = testing_support::partly_full(random, plan.build(), 0.2, 14);
    const auto& topology = on.fabric->topology();
    JobSpec spec = testing_support::with_random_traffic(random, kJobs[below(random, kJobs.size())]);
    Placer placer(on.fabric);
    placer.sync(on.allocations);
    const auto placement = placer.try_place(spec);  // before it preferred any
    if (!placement) continue;
    spec.prefer_nodes = testing_support::random_preferences(random, hosts, 2);
    std::vector<GpuId> lost;
    for (const GpuId gpu : placement->gpu_of_rank) {
      if (lost.size() < 3 && below(random, 2) == 0) lost.push_back(gpu);
    }
    if (lost.empty()) continue;
    PlacementTransaction taken(placer.tree(), topology);
    ASSERT_TRUE(taken.take(placement->gpu_of_rank));
    const DamagedJob job{.spec = &spec, .gpu_of_rank = placement->gpu_of_rank, .block_gpus = placement->block_gpus};
    const auto plan_with = plan_repair(placer, job, lost);
    JobSpec plain = spec;
    plain.prefer_nodes.clear();
    const auto plan_without = plan_repair(
        placer, {.spec = &plain, .gpu_of_rank = placement->gpu_of_rank, .block_gpus = placement->block_gpus}, lost);
    ASSERT_EQ(plan_with.has_value(), plan_without.has_value()) << "seed " << seed;
    if (!plan_with || plan_with->moved_whole || plan_with->moves.size() > 4) continue;
    ASSERT_EQ(plan_with->moves.size(), plan_without->moves.size()) << "seed " << seed;
    ++cases;
    std::vector<GpuId> free = on.free;
    std::erase_if(free, [&](GpuId gpu) {
      return std::ranges::find(placement->gpu_of_rank, gpu) != placement->gpu_of_rank.end();
    });
    EveryMove every(*on.fabric, spec);
    const double us = every.us(plan_with->gpu_of_rank), before_us = every.us(plan_without->gpu_of_rank);
    EXPECT_LE(us, before_us * (1 + 1e-9)) << "seed " << seed;
    better += us < before_us * (1 - 1e-9) ? 1 : 0;
    const double best_us = every.best_us(plan_with->gpu_of_rank, plan_with->moves, free);
    worst = std::max(worst, us / best_us);
    over += us > best_us * kMost ? 1 : 0;
    EXPECT_LE(us, best_us * kMost) << "seed " << seed << ": " << testing_support::text_of(spec.parallelism) << " at"
                                   << testing_support::text_of(*on.fabric, plan_with->gpu_of_rank);
  }
  std::printf("%d repairs, %d of them better for preferences; worst %.3f times the best, %d over %.2f\n", cases, better,
              worst, over, kMost);
  EXPECT_GT(cases, static_cast<int>(part_of_seeds(1200) / 4));
  EXPECT_GT(better, cases / 10);
}

// 2,048 domains: every two of them would be tried for two blocks, were they not bounded.
TEST(PreferredMoves, OfManyDomainsTheMostPreferredAreFound) {
  auto topology =
      fabric::generate("rail-optimized", {{"hosts", "2048"}, {"rails", "1"}, {"radix", "128"}, {"tiers", "3"}});
  ASSERT_TRUE(topology) << topology.error().text();
  const auto fabric =
      std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
  Placer placer(fabric);
  placer.sync(no_allocations(fabric->topology()));
  JobSpec spec;
  spec.parallelism = {.tensor = 8, .data = 32};
  const auto placement = placer.try_place(spec);
  ASSERT_TRUE(placement);
  const auto node_of = [&](GpuId gpu) { return fabric->topology().host(gpu); };
  std::vector<GpuId> lost;  // two whole hosts
  for (std::size_t rank = 0; rank < 16; ++rank) lost.push_back(placement->gpu_of_rank[rank]);
  spec.prefer_nodes.push_back({.weight = 100});
  for (const std::size_t host : {1800U, 2000U}) {
    spec.prefer_nodes[0].nodes.emplace_back(fabric->topology().name(fabric::HostId(host)));
  }
  PlacementTransaction taken(placer.tree(), fabric->topology());
  ASSERT_TRUE(taken.take(placement->gpu_of_rank));
  const auto plan = plan_repair(
      placer, {.spec = &spec, .gpu_of_rank = placement->gpu_of_rank, .block_gpus = placement->block_gpus}, lost);
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->moves.size(), 16U);
  std::set<fabric::HostId> hosts;
  for (std::size_t rank = 0; rank < 16; ++rank) hosts.insert(node_of(plan->gpu_of_rank[rank]));
  EXPECT_EQ(hosts, (std::set<fabric::HostId>{fabric::HostId(1800U), fabric::HostId(2000U)}));
}

}  // namespace
}  // namespace railweave::scheduler::preferred_moves_test
