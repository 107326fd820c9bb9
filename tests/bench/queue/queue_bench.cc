// One cycle of the queue with 10,000 jobs waiting on a full fabric of 102,400 GPUs, and of smaller ones. Aim: tens of
// milliseconds.
#include <algorithm>
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>

#include "scheduler/queue/cycle/job_digests.h"
#include "scheduler/queue/queue_cycle.h"
#include "tests/bench/placement/churn.h"

namespace railweave::scheduler::bench {
namespace {

constexpr std::int64_t kHour = 3'600'000'000;

// A fabric filled with running jobs, and a queue of as many as asked for.
struct Cluster {
  Cluster(std::uint64_t gpus, std::uint64_t waiting)
      : fabric(bench_fabric(FabricKind::rails, gpus)), cycle(fabric), allocations(no_allocations(fabric->topology())) {
    std::mt19937_64 random(1);
    const JobMix mix(gpus);
    const char* classes[] = {"low", "normal", "high"};
    const auto spec_of = [&](const char* priority) {
      JobSpec spec = bench_job(mix.next(random));
      spec.tenant = "tenant-" + std::to_string(random() % 50);
      spec.priority = priority;
      spec.expected_duration_s = static_cast<std::int64_t>(600 + random() % 360'000);
      return spec;
    };
    specs.reserve(200'000);
    Placer placer(fabric);
    int misses = 0;
    while (misses < 20) {
      specs.push_back(spec_of(classes[random() % 2]));
      placer.sync(allocations);
      auto placement = placer.try_place(specs.back());
      if (!placement) {
        ++misses;
        continue;
      }
      if (!take(allocations, fabric->topology(), placement->gpu_of_rank)) std::abort();
      held.push_back(std::move(placement->gpu_of_rank));
      running_specs.push_back(specs.size() - 1);
      started.push_back(kNow - static_cast<std::int64_t>(random() % 360'000) * 1'000'000);
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
      running.push_back({1 + i, &specs[running_specs[i]], started[i], 0, held[i]});
    }
    for (std::uint64_t i = 0; i < waiting; ++i) {
      specs.push_back(spec_of(classes[random() % 3]));
      queued.push_back(
          {1'000'000 + i, &specs.back(), kNow - static_cast<std::int64_t>(random() % 36'000) * 1'000'000, 0});
    }
    for (QueuedJob& job : queued) job.digest = digests.of(*job.spec);  // as the service keeps them
    policy.classes = {{"low", -1, false, true}, {"normal", 0, false, true}, {"high", 1, false, true}};
  }

  // Some jobs of the running end, as between two cycles.
  void end_some(std::size_t count) {
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = random() % running.size();
      if (!release(allocations, fabric->topology(), running[at].gpus)) std::abort();
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  static constexpr std::int64_t kNow = 10'000 * kHour;
  PlacementFabricPtr fabric;
  QueueCycle cycle;
  Allocations allocations;
  QueuePolicy policy;
  JobDigests digests;
  std::vector<JobSpec> specs;
  std::vector<std::size_t> running_specs;
  std::vector<std::vector<fabric::GpuId>> held;
  std::vector<std::int64_t> started;
  std::vector<RunningJob> running;
  std::vector<QueuedJob> queued;
};

void run(benchmark::State& state, Cluster& cluster) {
  CycleResult result;
  for (auto _ : state) {
    result = cluster.cycle.run(
        cluster.allocations,
        {.policy = &cluster.policy, .queued = cluster.queued, .running = cluster.running, .now_us = Cluster::kNow});
  }
  state.counters["starts"] = static_cast<double>(result.starts.size());
  state.counters["evictions"] = static_cast<double>(result.evictions.size());
  state.counters["running"] = static_cast<double>(cluster.running.size());
  state.counters["tried"] = static_cast<double>(result.placements_tried);
  state.counters["shapes"] = static_cast<double>(result.shapes);
}

void cycle(benchmark::State& state, Backfill backfill) {
  Cluster cluster(static_cast<std::uint64_t>(state.range(0)), static_cast<std::uint64_t>(state.range(1)));
  cluster.end_some(20);
  cluster.policy.backfill = backfill;
  run(state, cluster);
}
void BM_CycleWithoutBackfill(benchmark::State& state) { cycle(state, Backfill::none); }
void BM_CycleEasy(benchmark::State& state) { cycle(state, Backfill::easy); }
void BM_CycleConservative(benchmark::State& state) { cycle(state, Backfill::conservative); }
void BM_CycleEasyYielding(benchmark::State& state) {
  Cluster cluster(static_cast<std::uint64_t>(state.range(0)), static_cast<std::uint64_t>(state.range(1)));
  cluster.end_some(20);
  cluster.policy.place_wait = {.gain = 0.01, .share = 10, .most_us = 24 * kHour, .yields = true};
  run(state, cluster);
}
void BM_CycleEasyPreempting(benchmark::State& state) {
  Cluster cluster(static_cast<std::uint64_t>(state.range(0)), static_cast<std::uint64_t>(state.range(1)));
  cluster.policy.classes[2].may_preempt = true;
  run(state, cluster);
}
BENCHMARK(BM_CycleWithoutBackfill)->ArgNames({"gpus", "queued"})->Args({102400, 10000})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CycleEasy)
    ->ArgNames({"gpus", "queued"})
    ->Args({8192, 1000})
    ->Args({8192, 10000})
    ->Args({25600, 10000})
    ->Args({102400, 1000})
    ->Args({102400, 10000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CycleEasyYielding)->ArgNames({"gpus", "queued"})->Args({102400, 10000})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CycleConservative)->ArgNames({"gpus", "queued"})->Args({102400, 10000})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CycleEasyPreempting)->ArgNames({"gpus", "queued"})->Args({102400, 10000})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::scheduler::bench
