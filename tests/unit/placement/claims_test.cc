// Jobs that hold more than their ranks need: spares, and groups that they have to themselves. Against every placement
// there is on tiny fabrics, and under churn against sets of GPUs counted by hand.
#include "scheduler/placement/search/claims.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "job_oracle.h"
#include "planned_fabric.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer.h"

namespace railweave::scheduler::claims_test {
namespace {

using fabric::GpuId;
using fabric::LevelKind;
using testing_support::below;
using testing_support::JobOracle;
using testing_support::PlannedFabric;
using testing_support::Random;

LevelKind random_kind(Random& random, const PlannedFabric& plan) {
  std::vector<LevelKind> kinds = plan.levels;
  kinds.push_back(LevelKind::node);
  kinds.push_back(LevelKind::nvlink_domain);
  return kinds[below(random, kinds.size())];
}

JobSpec random_spec(Random& random, const PlannedFabric& plan, std::uint64_t most_ranks) {
  for (;;) {
    JobSpec spec;
    auto& p = spec.parallelism;
    p.tensor = static_cast<std::uint32_t>(1 + below(random, 4));
    p.data = static_cast<std::uint32_t>(1 + below(random, 4));
    p.pipeline = static_cast<std::uint32_t>(1 + below(random, 2));
    if (rank_count(p) > most_ranks) continue;
    if (below(random, 4) == 0) spec.tensor.required = LevelKind::node;
    if (below(random, 5) == 0) spec.gpus_per_node = static_cast<std::uint32_t>(1 + below(random, 4));
    if (below(random, 5) == 0) spec.node_selector = {{"zone", "a"}};
    if (below(random, 2) == 0) spec.exclusive = random_kind(random, plan);
    if (below(random, 2) == 0) spec.spares_per_domain = static_cast<std::uint32_t>(1 + below(random, 3));
    if (check_job_spec(spec)) return spec;
  }
}

std::string text(const JobSpec& spec) {
  return "tp " + std::to_string(spec.parallelism.tensor) + " dp " + std::to_string(spec.parallelism.data) + " pp " +
         std::to_string(spec.parallelism.pipeline) + (spec.tensor.required ? ", tensor in a node" : "") +
         ", per node " + std::to_string(spec.gpus_per_node.value_or(0)) +
         (spec.exclusive ? ", exclusive " + std::string(to_string(*spec.exclusive)) : "") + ", spares " +
         std::to_string(spec.spares_per_domain) + (spec.node_selector.empty() ? "" : ", zone a");
}

// What it must hold idle, said GPU by GPU from the plan.
std::string wrong_with_idle(const JobOracle& oracle, const PlannedFabric& plan, const PlacementFabric& fabric,
                            const Allocations& before, const JobSpec& spec, const Placement& placement) {
  std::set<std::size_t> ranks, idle;
  for (const GpuId gpu : placement.gpu_of_rank) ranks.insert(oracle.index_of(fabric, gpu));
  for (const GpuId gpu : placement.idle_gpus) {
    const auto host = fabric.topology().host(gpu);
    if ((before[host.index()].used >> fabric.topology().local_index(gpu) & 1U) != 0) return "holds what others have";
    if (!idle.insert(oracle.index_of(fabric, gpu)).second) return "holds a GPU twice";
  }
  if (!std::ranges::is_sorted(placement.idle_gpus)) return "idle GPUs are not in order";
  for (const auto gpu : ranks) {
    if (idle.contains(gpu)) return "a rank's GPU is idle";
  }
  const auto domain = oracle.whole_parts(LevelKind::nvlink_domain);
  std::set<int> domains_used;
  for (const auto gpu : ranks) domains_used.insert(domain[gpu]);
  for (const int used : domains_used) {
    std::size_t spares = 0;
    for (const auto gpu : idle) spares += domain[gpu] == used && oracle.usable(gpu) ? 1 : 0;
    if (spares < spec.spares_per_domain) return "a domain has too few spares";
  }
  if (!spec.exclusive) {
    return idle.size() == spec.spares_per_domain * domains_used.size() ? "" : "holds more spares than asked for";
  }
  const auto part = oracle.whole_parts(*spec.exclusive);
  std::set<int> own;
  for (const auto gpu : ranks) own.insert(part[gpu]);
  for (const auto gpu : idle) own.insert(part[gpu]);
  std::size_t gpu = 0;
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    for (std::size_t g = 0; g < plan.hosts[h].domain_of_gpu.size(); ++g, ++gpu) {
      if (!own.contains(part[gpu])) continue;
      if (!ranks.contains(gpu) && !idle.contains(gpu)) return "does not hold all of a group";
    }
  }
  return "";
}

bool known_level(const PlannedFabric& plan, const JobSpec& spec) {
  return !spec.exclusive || *spec.exclusive == LevelKind::node || *spec.exclusive == LevelKind::nvlink_domain ||
         std::ranges::find(plan.levels, *spec.exclusive) != plan.levels.end();
}

TEST(Claims, JobsWithSparesAndGroupsOfTheirOwnArePlacedWhereAnyPlaceExists) {
  int placed = 0, not_now = 0, never = 0, with_idle = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    Random random(seed);
    const PlannedFabric plan = testing_support::random_fabric(random, 6, 4);
    const auto fabric = plan.build();
    const Allocations allocations = testing_support::random_allocations(random, *fabric, below(random, 3) * 0.2);
    const JobSpec spec = random_spec(random, plan, 6);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text(spec));
    const JobOracle oracle(plan, spec, &allocations);
    const JobOracle when_empty(plan, spec, nullptr);
    ASSERT_TRUE(known_level(plan, spec));
    const bool feasible = oracle.feasible(oracle.required_rules());
    for (const auto policy : {PlacementPolicy::best_fit, PlacementPolicy::cost}) {
      Placer placer(fabric, {policy});
      placer.sync(allocations);
      const PlacementResult result = placer.place(spec);
      ASSERT_EQ(placer.fits(spec), result.outcome == Outcome::placed);
      for (const auto host : fabric->topology().hosts()) {
        ASSERT_EQ(placer.tree().allocation(host), allocations[host.index()]) << "the tree is as it was";
      }
      if (!feasible) {
        const bool ever = when_empty.feasible(when_empty.required_rules());
        ASSERT_EQ(result.outcome, ever ? Outcome::not_now : Outcome::never) << result.explanation.message;
        ++(ever ? not_now : never);
        continue;
      }
      ASSERT_EQ(result.outcome, Outcome::placed) << result.explanation.message;
      ASSERT_EQ(oracle.violation(*fabric, result.placement, oracle.required_rules()), "");
      ASSERT_EQ(wrong_with_idle(oracle, plan, *fabric, allocations, spec, result.placement), "");
      ++placed;
      with_idle += result.placement.idle_gpus.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(placed, 2000);
  EXPECT_GT(with_idle, 1000);
  EXPECT_GT(not_now, 500);
  EXPECT_GT(never, 500);
}

TEST(Claims, WhatIsHeldIsExclusiveUntilReleased) {
  int exclusive = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const PlannedFabric plan = testing_support::random_fabric(random, 24, 8);
    const auto fabric = plan.build();
    const JobSpec any;
    const JobOracle numbers(plan, any, nullptr);
    Placer placer(fabric);
    Allocations state = no_allocations(fabric->topology());
    struct Running {
      JobSpec spec;
      std::vector<GpuId> held;
    };
    std::vector<Running> running;
    for (int step = 0; step < 60; ++step) {
      if (!running.empty() && below(random, 3) == 0) {
        const std::size_t at = below(random, running.size());
        ASSERT_TRUE(release(state, fabric->topology(), running[at].held));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        const JobSpec spec = random_spec(random, plan, 16);
        placer.sync(state);
        const auto placement = placer.try_place(spec);
        if (!placement) continue;
        running.push_back({spec, placement->held_gpus()});
        ASSERT_TRUE(take(state, fabric->topology(), running.back().held)) << text(spec);
      }
      // The GPUs of all jobs, counted by hand: each once, the tree and the state agree, and groups are their holders'.
      std::map<std::size_t, std::size_t> holder;
      std::size_t held = 0;
      for (std::size_t job = 0; job < running.size(); ++job) {
        for (const GpuId gpu : running[job].held) holder[numbers.index_of(*fabric, gpu)] = job;
        held += running[job].held.size();
      }
      ASSERT_EQ(holder.size(), held);
      placer.sync(state);
      ASSERT_EQ(placer.tree().total_free(), plan.gpus() - held);
      for (std::size_t job = 0; job < running.size(); ++job) {
        if (!running[job].spec.exclusive) continue;
        ++exclusive;
        const auto part = numbers.whole_parts(*running[job].spec.exclusive);
        std::set<int> own;
        for (const GpuId gpu : running[job].held) own.insert(part[numbers.index_of(*fabric, gpu)]);
        for (std::size_t gpu = 0; gpu < part.size(); ++gpu) {
          if (own.contains(part[gpu])) {
            ASSERT_TRUE(holder.contains(gpu) && holder[gpu] == job);
          }
        }
      }
    }
  }
  EXPECT_GT(exclusive, 1000);
}

// --- spread

TEST(Spread, KeepsAtMostTheMaximumOfGpusInAGroup) {
  int placed = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    const PlannedFabric plan = testing_support::random_fabric(random, 6, 4);
    const auto fabric = plan.build();
    const Allocations allocations = testing_support::random_allocations(random, *fabric, below(random, 3) * 0.2);
    JobSpec spec;
    spec.parallelism.tensor = static_cast<std::uint32_t>(1 + below(random, 2));
    spec.parallelism.data = static_cast<std::uint32_t>(1 + below(random, 4));
    spec.parallelism.pipeline = static_cast<std::uint32_t>(1 + below(random, 2));
    // Blocks inside a node, so that those of no level straddle two of its groups.
    if (spec.parallelism.tensor > 1) spec.tensor.required = LevelKind::node;
    LevelKind level = plan.levels[below(random, plan.levels.size())];
    if (below(random, 3) == 0) level = LevelKind::node;
    spec.spread = SpreadLimit{level, spec.parallelism.tensor * (1 + below(random, 4))};
    if (below(random, 4) == 0) spec.spares_per_domain = 1;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text(spec) + ", at most " +
                 std::to_string(spec.spread->max_gpus_per_group) + " in a " + std::string(to_string(level)));
    const JobOracle oracle(plan, spec, &allocations);
    const bool feasible = oracle.feasible(oracle.required_rules());
    for (const auto policy : {PlacementPolicy::best_fit, PlacementPolicy::cost}) {
      Placer placer(fabric, {policy});
      placer.sync(allocations);
      const PlacementResult result = placer.place(spec);
      ASSERT_EQ(result.outcome == Outcome::placed, feasible) << result.explanation.message;
      if (!feasible) {
        ++refused;
        continue;
      }
      ++placed;
      ASSERT_EQ(oracle.violation(*fabric, result.placement, oracle.required_rules()), "");
      const auto part = oracle.whole_parts(level);
      std::map<int, std::uint64_t> count;
      for (const GpuId gpu : result.placement.gpu_of_rank) {
        ASSERT_LE(++count[part[oracle.index_of(*fabric, gpu)]], spec.spread->max_gpus_per_group);
      }
    }
  }
  EXPECT_GT(placed, 1500);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace railweave::scheduler::claims_test
