// Evictions against brute force over all sets of victims, on fabrics small enough to try them all.
#include "scheduler/queue/cycle/preemption.h"

#include <bit>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::preemption_test {
namespace {

using namespace testing_support;
using Random = std::mt19937_64;

constexpr unsigned kHosts = 6, kGpus = 4, kPerRack = 3;

struct Case {
  PlacementFabricPtr fabric = small_fabric(kHosts, kGpus, kPerRack);
  Placer placer{fabric};
  std::vector<std::vector<fabric::GpuId>> held;
  std::vector<PossibleVictim> candidates;
  std::vector<unsigned> free = std::vector<unsigned>(kHosts, kGpus);
  SimulatedJob job;
};

// Up to eleven jobs anywhere, in one piece or scattered, and one that wants in.
Case random_case(Random& random) {
  Case made;
  PlacementTransaction tree(made.placer.tree(), made.fabric->topology());
  std::vector<fabric::GpuId> all;
  for (const auto gpu : made.fabric->topology().gpus()) all.push_back(gpu);
  if (random() % 3 == 0) std::shuffle(all.begin(), all.end(), random);
  for (std::size_t at = 0; at < all.size() && made.held.size() < 11;) {
    const std::size_t size = std::min<std::size_t>(all.size() - at, 1 + random() % 6);
    if (random() % 8 != 0) {
      made.held.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                             all.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
    at += size;
  }
  for (std::size_t i = 0; i < made.held.size(); ++i) {
    EXPECT_TRUE(tree.take(made.held[i]));
    for (const auto gpu : made.held[i]) --made.free[made.fabric->topology().host(gpu).index()];
    made.candidates.push_back({i + 1, static_cast<std::int32_t>(random() % 3),
                               static_cast<double>((1 + random() % 20) * made.held[i].size()), made.held[i]});
  }
  tree.commit();
  const std::uint32_t tensor = 1U << random() % 3;
  made.job = simulated_job(100, tensor, 1 + static_cast<std::uint32_t>(random() % (12 / tensor)), 0, 10);
  if (random() % 3 == 0) made.job.spec.job.required = fabric::LevelKind::rack;
  return made;
}

bool fits_without(const Case& made, std::uint32_t set) {
  std::vector<unsigned> free = made.free;
  for (std::size_t i = 0; i < made.held.size(); ++i) {
    if ((set >> i & 1U) == 0) continue;
    for (const auto gpu : made.held[i]) ++free[made.fabric->topology().host(gpu).index()];
  }
  unsigned total = 0;
  unsigned best = 0;
  for (unsigned rack = 0; rack < kHosts / kPerRack; ++rack) {
    unsigned here = 0;
    for (unsigned h = rack * kPerRack; h < (rack + 1) * kPerRack; ++h)
      here += free[h] / made.job.spec.parallelism.tensor;
    total += here;
    best = std::max(best, here);
  }
  return (made.job.spec.job.required ? best : total) >= made.job.spec.parallelism.data;
}

struct Price {
  std::int32_t priority = INT32_MAX;  // the highest of the set
  double lost = 0;
  friend auto operator<=>(const Price&, const Price&) = default;
};
Price price_of(const Case& made, std::uint32_t set) {
  Price price{INT32_MIN, 0};
  for (std::size_t i = 0; i < made.candidates.size(); ++i) {
    if ((set >> i & 1U) == 0) continue;
    price.priority = std::max(price.priority, made.candidates[i].priority);
    price.lost += made.candidates[i].lost_gpu_s;
  }
  return price;
}

TEST(Preemption, EvictsNoJobThatCouldStayAndNoneOfHigherPriorityThanNeeded) {
  std::uint64_t planned = 0;
  std::uint64_t optimal = 0;
  double lost = 0;
  double least_lost = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    Random random(seed);
    Case made = random_case(random);
    if (fits_without(made, 0)) continue;
    const std::uint32_t everybody = (1U << made.held.size()) - 1;
    std::optional<Price> least;
    for (std::uint32_t set = 1; set <= everybody; ++set) {
      const Price price = price_of(made, set);
      if ((!least || price < *least) && fits_without(made, set)) least = price;
    }
    PreemptionQuestion question{.candidates = made.candidates, .gpus = rank_count(made.job.spec.parallelism)};
    question.fits = [&] { return made.placer.fits(made.job.spec); };
    const std::uint64_t free_before = made.placer.tree().total_free();
    const auto plan = plan_preemption(made.placer, question);
    ASSERT_EQ(made.placer.tree().total_free(), free_before) << "seed " << seed;
    ASSERT_EQ(plan.has_value(), least.has_value()) << "seed " << seed;
    if (!plan) continue;
    std::uint32_t set = 0;
    for (const std::size_t victim : plan->victims) set |= 1U << victim;
    ASSERT_TRUE(fits_without(made, set)) << "seed " << seed << ": evicts for a job that still does not fit";
    for (const std::size_t victim : plan->victims) {
      ASSERT_FALSE(fits_without(made, set & ~(1U << victim)))
          << "seed " << seed << ": victim " << victim << " could stay";
    }
    const Price price = price_of(made, set);
    ASSERT_EQ(price.priority, least->priority) << "seed " << seed;
    ASSERT_DOUBLE_EQ(price.lost, plan->lost_gpu_s);
    ++planned;
    optimal += price.lost <= least->lost ? 1 : 0;
    lost += price.lost;
    least_lost += least->lost;
  }
  RecordProperty("planned", std::to_string(planned));
  std::printf("%llu plans, %.1f%% at least cost, %.4f of the least work lost in all\n",
              static_cast<unsigned long long>(planned),
              100.0 * static_cast<double>(optimal) / static_cast<double>(planned), lost / least_lost);
  EXPECT_GT(planned, 500U);
  EXPECT_EQ(optimal, planned);
  EXPECT_DOUBLE_EQ(lost, least_lost);
}

// Where any GPUs will do, the least is a knapsack: the dearest jobs that may stay. By dynamic programming over GPUs.
TEST(Preemption, LosesHardlyMoreThanTheLeastOfManyJobs) {
  constexpr std::size_t kManyHosts = 40;
  double lost = 0, least_lost = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(40); ++seed) {
    Random random(seed);
    const auto fabric = small_fabric(kManyHosts, kGpus, kPerRack);
    Placer placer(fabric);
    std::vector<std::vector<fabric::GpuId>> held;
    PlacementTransaction tree(placer.tree(), fabric->topology());
    for (std::size_t at = 0; at < kManyHosts * kGpus;) {
      const std::size_t size = std::min<std::size_t>(kManyHosts * kGpus - at, 1 + random() % 7);
      std::vector<fabric::GpuId> gpus;
      for (std::size_t g = at; g < at + size; ++g) gpus.emplace_back(g);
      ASSERT_TRUE(tree.take(gpus));
      held.push_back(std::move(gpus));
      at += size;
    }
    tree.commit();
    std::vector<PossibleVictim> candidates;
    for (std::size_t i = 0; i < held.size(); ++i) {
      candidates.push_back({i + 1, 0, static_cast<double>((1 + random() % 500) * held[i].size()), held[i]});
    }
    const auto wanted = static_cast<std::uint32_t>(10 + random() % 60);
    const SimulatedJob job = simulated_job(100, 1, wanted, 0, 10);
    PreemptionQuestion question{.candidates = candidates, .gpus = wanted};
    question.fits = [&] { return placer.fits(job.spec); };
    const auto plan = plan_preemption(placer, question);
    ASSERT_TRUE(plan);
    std::vector<double> least(wanted + 1, 1e18);  // to free at least that number of GPUs
    least[0] = 0;
    for (const auto& candidate : candidates) {
      for (std::size_t gpus = wanted; gpus > 0; --gpus) {
        const std::size_t before = gpus - std::min<std::size_t>(gpus, candidate.gpus.size());
        least[gpus] = std::min(least[gpus], least[before] + candidate.lost_gpu_s);
      }
    }
    ASSERT_GE(plan->lost_gpu_s, least[wanted] * (1 - 1e-9)) << "seed " << seed;
    lost += plan->lost_gpu_s;
    least_lost += least[wanted];
  }
  std::printf("%.4f of the least work lost in all\n", lost / least_lost);
  EXPECT_LT(lost, 1.01 * least_lost);
}

QueuePolicy two_classes() {
  QueuePolicy policy;
  policy.classes = {{"low", -10, false, true}, {"normal", 0, false, false}, {"high", 10, true, false}};
  policy.least_run_us = 0;
  return policy;
}

// A job that no eviction helps causes none.
TEST(Preemption, EvictsNoJobForOneThatStillDoesNotFit) {
  auto low = simulated_job(1, 1, 10, 0, 1000);
  low.spec.priority = "low";
  auto guard = simulated_job(2, 4, 1, 0, 1000);  // normal: stays
  auto other = simulated_job(3, 4, 3, 0, 1000);
  auto high = simulated_job(4, 4, 6, 10, 10);  // needs the whole fabric
  high.spec.priority = "high";
  SimulatedCluster cluster(small_fabric(kHosts, kGpus, kPerRack), two_classes(), {guard, other, low, high});
  cluster.run(20 * kSecond);
  EXPECT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(1).evictions, 0U);
  EXPECT_EQ(cluster.job(4).started_us, -1);
}

TEST(Preemption, TakesTheJobThatLosesLeast) {
  auto old = simulated_job(1, 4, 3, 0, 1000);
  auto young = simulated_job(2, 4, 3, 50, 1000);
  for (auto* job : {&old, &young}) job->spec.priority = "low";
  auto high = simulated_job(3, 4, 3, 60, 10);
  high.spec.priority = "high";
  SimulatedCluster cluster(small_fabric(kHosts, kGpus, kPerRack), two_classes(), {old, young, high});
  cluster.run(60 * kSecond);
  EXPECT_EQ(cluster.job(3).started_us, 60 * kSecond);
  EXPECT_EQ(cluster.job(1).evictions, 0U);
  EXPECT_EQ(cluster.job(2).evictions, 1U);
  cluster.run();
  EXPECT_EQ(cluster.broken, "");
  EXPECT_GE(cluster.job(2).ended_us, 0);
}

}  // namespace
}  // namespace railweave::scheduler::preemption_test
