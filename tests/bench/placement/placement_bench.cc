// Placements on fabrics of 1,000 to 100,000 GPUs at 90% fill under churn, beside first-fit and a BestFit that counts
// every node. Aim: a job of 1,024 GPUs on 100k GPUs in under 100 us, its rank list included.
#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <set>
#include <string>

#include <benchmark/benchmark.h>

#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "tests/bench/placement/churn.h"
#include "tests/bench/placement/peers.h"

namespace railweave::scheduler::bench {
namespace {

using Clock = std::chrono::steady_clock;

class Latencies {
 public:
  double add(Clock::time_point begin) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    all_.push_back(seconds);
    return seconds;
  }
  void report(benchmark::State& state) {
    std::ranges::sort(all_);
    const auto at = [&](double share) {
      return all_.empty()
                 ? 0
                 : all_[std::min(all_.size() - 1, static_cast<std::size_t>(share * static_cast<double>(all_.size())))] *
                       1e6;
    };
    state.counters["p50_us"] = at(0.5);
    state.counters["p99_us"] = at(0.99);
  }

 private:
  std::vector<double> all_;
};

// The placer with its tree filled by the mix.
struct Loaded {
  Loaded(PlacementFabricPtr fabric, std::uint64_t seed, PlacementPolicy policy = PlacementPolicy::best_fit,
         double free = 0.1)
      : placer(fabric, {policy}),
        churn(fabric->hierarchy().total_capacity(), seed, free),
        topology(fabric->topology()) {
    while (churn.fill() < 0.98 - free) step(churn.next_size());
    for (int i = 0; i < 2000; ++i) step(churn.next_size());
  }
  void release(const std::vector<fabric::GpuId>& gpus) {
    PlacementTransaction transaction(placer.tree(), topology);
    if (!transaction.release(gpus)) std::abort();
    transaction.commit();
  }
  void make_room(std::uint64_t size) {
    churn.make_room(size, [&](const auto& gpus) { release(gpus); });
  }
  void start(PlacementResult&& result) {
    if (result.outcome != Outcome::placed) return;
    PlacementTransaction transaction(placer.tree(), topology);
    if (!transaction.take(result.placement.gpu_of_rank)) std::abort();
    transaction.commit();
    churn.started(std::move(result.placement.gpu_of_rank));
  }
  void step(std::uint64_t size) {
    make_room(size);
    start(placer.place(bench_job(size)));
  }

  Placer placer;
  Churn churn;
  const fabric::Topology& topology;
};

// One placement of `size` GPUs, nothing else timed; jobs of the mix come and go between.
void place_one(benchmark::State& state, FabricKind kind) {
  const auto fabric = bench_fabric(kind, static_cast<std::uint64_t>(state.range(0)));
  const auto size = static_cast<std::uint64_t>(state.range(1));
  Loaded loaded(fabric, 1);
  const JobSpec spec = bench_job(size);
  Latencies latencies;
  std::uint64_t placed = 0;
  std::uint64_t tried = 0;
  for (auto _ : state) {
    for (int i = 0; i < 4; ++i) loaded.step(loaded.churn.next_size());
    loaded.make_room(size);
    const auto begin = Clock::now();
    auto result = loaded.placer.place(spec);
    state.SetIterationTime(latencies.add(begin));
    ++tried;
    placed += result.outcome == Outcome::placed ? 1 : 0;
    loaded.start(std::move(result));
  }
  latencies.report(state);
  state.counters["placed"] = static_cast<double>(placed) / static_cast<double>(tried);
}
void BM_PlaceOne(benchmark::State& state) { place_one(state, FabricKind::rails); }
void BM_PlaceOneNvl72(benchmark::State& state) { place_one(state, FabricKind::nvl72); }
BENCHMARK(BM_PlaceOne)
    ->ArgNames({"gpus", "size"})
    ->ArgsProduct({{1024, 8192, 25600, 51200, 102400}, {8, 64}})
    ->ArgsProduct({{8192, 25600, 51200, 102400}, {512}})
    ->ArgsProduct({{25600, 51200, 102400}, {1024}})
    ->ArgsProduct({{102400}, {4096, 8192}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceOneNvl72)
    ->ArgNames({"gpus", "size"})
    ->ArgsProduct({{102400}, {8, 64, 512, 1024, 4096, 8192}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// The mix: place, take and release, all of it timed.
void BM_Churn(benchmark::State& state) {
  Loaded loaded(bench_fabric(FabricKind::rails, static_cast<std::uint64_t>(state.range(0))), 2);
  Latencies latencies;
  for (auto _ : state) {
    const auto begin = Clock::now();
    loaded.step(loaded.churn.next_size());
    latencies.add(begin);
  }
  state.SetItemsProcessed(state.iterations());
  latencies.report(state);
}
BENCHMARK(BM_Churn)->ArgName("gpus")->Arg(1024)->Arg(8192)->Arg(25600)->Arg(51200)->Arg(102400)->Unit(
    benchmark::kMicrosecond);

// Only jobs of at most 64 GPUs placed and ended, on a fabric that the mix filled.
void BM_ChurnOfSmallJobs(benchmark::State& state) {
  Loaded loaded(bench_fabric(FabricKind::rails, static_cast<std::uint64_t>(state.range(0))), 2);
  std::mt19937_64 random(3);
  const JobMix mix(1024);
  for (auto _ : state) loaded.step(mix.next(random));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_ChurnOfSmallJobs)->ArgName("gpus")->Arg(1024)->Arg(8192)->Arg(102400)->Unit(benchmark::kMicrosecond);

// A question about a snapshot that another thread published: bring the own tree there, and ask.
void BM_WhatIfOnNewSnapshot(benchmark::State& state) {
  const auto fabric = bench_fabric(FabricKind::rails, static_cast<std::uint64_t>(state.range(0)));
  Loaded loaded(fabric, 4);
  Placer asking(fabric, {PlacementPolicy::best_fit});
  Allocations published = no_allocations(fabric->topology());
  for (const auto host : fabric->topology().hosts())
    published.write(host.index()) = loaded.placer.tree().allocation(host);
  const JobSpec spec = bench_job(64);
  std::mt19937_64 random(5);
  for (auto _ : state) {
    state.PauseTiming();
    auto& host = published.write(random() % published.size());
    host.used ^= 1U;
    const Allocations snapshot = published;
    state.ResumeTiming();
    asking.sync(snapshot);
    benchmark::DoNotOptimize(asking.place(spec));
  }
}
BENCHMARK(BM_WhatIfOnNewSnapshot)->ArgName("gpus")->Arg(8192)->Arg(102400)->Unit(benchmark::kMicrosecond);

// A job that does not fit, with the whole explanation.
void BM_Refuse(benchmark::State& state) {
  Loaded loaded(bench_fabric(FabricKind::rails, static_cast<std::uint64_t>(state.range(0))), 6);
  const JobSpec spec = bench_job(static_cast<std::uint64_t>(state.range(0)) / 2);
  for (auto _ : state) benchmark::DoNotOptimize(loaded.placer.place(spec));
}
BENCHMARK(BM_Refuse)->ArgName("gpus")->Arg(1024)->Arg(8192)->Arg(102400)->Unit(benchmark::kMicrosecond);

// Groups of a level that a job uses, and the fewest that could hold it at that moment wherever they are.
class Spans {
 public:
  explicit Spans(const PlacementFabric& fabric, fabric::LevelKind kind)
      : fabric_(fabric), level_(fabric.hierarchy().level_of(kind)), blocks_(fabric.hierarchy().group_count(level_)) {}

  // The state before the job was taken.
  void add(const std::vector<std::uint64_t>& free_of_leaf, const std::vector<fabric::GpuId>& gpus,
           std::uint32_t block) {
    const Hierarchy& hierarchy = fabric_.hierarchy();
    std::ranges::fill(blocks_, 0U);
    for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
      blocks_[hierarchy.group_of_leaf(level_, leaf)] +=
          static_cast<std::uint32_t>(std::popcount(free_of_leaf[leaf])) / block;
    }
    std::ranges::sort(blocks_, std::greater{});
    std::uint64_t rest = gpus.size() / block;
    std::uint64_t least = 0;
    for (const auto blocks : blocks_) {
      if (rest == 0) break;
      rest -= std::min<std::uint64_t>(rest, blocks);
      ++least;
    }
    std::set<GroupIndex> used;
    for (const auto gpu : gpus)
      used.insert(hierarchy.group_of_leaf(level_, hierarchy.host_first_leaf(fabric_.topology().host(gpu))));
    used_ += used.size();
    least_ += least;
  }
  [[nodiscard]] double ratio() const {
    return static_cast<double>(used_) / static_cast<double>(std::max<std::uint64_t>(1, least_));
  }

 private:
  const PlacementFabric& fabric_;
  unsigned level_;
  std::vector<std::uint32_t> blocks_;
  std::uint64_t used_ = 0;
  std::uint64_t least_ = 0;
};

// The same stream of jobs under one policy after the other: time per decision, and groups spanned over the fewest
// possible at each decision. Multi-node jobs alone count for spans.
template <class Decide, class Take, class Release, class Free>
void run_policy(benchmark::State& state, const PlacementFabric& fabric, Decide decide, Take take, Release release,
                Free free) {
  Churn churn(fabric.hierarchy().total_capacity(), 7);
  Spans leaf_groups(fabric, fabric::LevelKind::leaf_group);
  Spans racks(fabric, fabric::LevelKind::rack);
  Latencies latencies;
  std::uint64_t refused = 0;
  const auto step = [&](bool measured) {
    const std::uint64_t size = churn.next_size();
    churn.make_room(size, release);
    const JobSpec spec = bench_job(size);
    const auto before = measured && size > 8 ? free() : std::vector<std::uint64_t>();
    const auto begin = Clock::now();
    std::vector<fabric::GpuId> gpus = decide(spec);
    const double seconds = measured ? latencies.add(begin) : 0;
    if (gpus.empty()) {
      ++refused;
      return seconds;
    }
    if (measured && size > 8) {
      leaf_groups.add(before, gpus, spec.parallelism.tensor);
      racks.add(before, gpus, spec.parallelism.tensor);
    }
    take(gpus);
    churn.started(std::move(gpus));
    return seconds;
  };
  while (churn.fill() < 0.88) step(false);
  for (int i = 0; i < 1000; ++i) step(false);
  refused = 0;
  for (auto _ : state) state.SetIterationTime(step(true));
  latencies.report(state);
  state.counters["leaf_group_spans"] = leaf_groups.ratio();
  state.counters["rack_spans"] = racks.ratio();
  state.counters["refused"] = static_cast<double>(refused) / static_cast<double>(state.iterations());
}

template <PlacementPolicy policy>
void BM_PolicyRailweave(benchmark::State& state) {
  const auto fabric = bench_fabric(FabricKind::rails, static_cast<std::uint64_t>(state.range(0)));
  Placer placer(fabric, {policy});
  const auto change = [&](const std::vector<fabric::GpuId>& gpus, bool take) {
    PlacementTransaction transaction(placer.tree(), fabric->topology());
    if (!(take ? transaction.take(gpus) : transaction.release(gpus))) std::abort();
    transaction.commit();
  };
  const auto free = [&] {
    std::vector<std::uint64_t> masks;
    for (LeafIndex leaf = 0; leaf < fabric->hierarchy().leaf_count(); ++leaf)
      masks.push_back(placer.tree().free_mask(leaf));
    return masks;
  };
  run_policy(
      state, *fabric, [&](const JobSpec& spec) { return placer.place(spec).placement.gpu_of_rank; },
      [&](const auto& gpus) { change(gpus, true); }, [&](const auto& gpus) { change(gpus, false); }, free);
}
template <class Policy>
void BM_Policy(benchmark::State& state) {
  const auto fabric = bench_fabric(FabricKind::rails, static_cast<std::uint64_t>(state.range(0)));
  struct Open : Policy {
    using Policy::free_;
    using Policy::Policy;
  } policy(*fabric);
  run_policy(
      state, *fabric,
      [&](const JobSpec& spec) {
        return policy.place(spec.parallelism.tensor, rank_count(spec.parallelism) / spec.parallelism.tensor);
      },
      [&](const auto& gpus) { policy.take(gpus); }, [&](const auto& gpus) { policy.release(gpus); },
      [&] { return policy.free_; });
}
BENCHMARK(BM_PolicyRailweave<PlacementPolicy::best_fit>)
    ->ArgName("gpus")
    ->Arg(8192)
    ->Arg(102400)
    ->Iterations(4000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PolicyRailweave<PlacementPolicy::cost>)
    ->ArgName("gpus")
    ->Arg(8192)
    ->Arg(102400)
    ->Iterations(4000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Policy<CountingBestFit>)
    ->ArgName("gpus")
    ->Arg(8192)
    ->Arg(102400)
    ->Iterations(4000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Policy<FirstFit>)
    ->ArgName("gpus")
    ->Arg(8192)
    ->Arg(102400)
    ->Iterations(4000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace railweave::scheduler::bench
