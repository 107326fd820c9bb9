// A million jobs placed, ended and rolled back, hosts drained and brought back: after every one of them what every
// group of every level has free is its capacity less what is held there, counted apart. Aborts where it is not.
#include <cstdio>
#include <cstdlib>
#include <random>

#include <benchmark/benchmark.h>

#include "scheduler/placement/fit/placement_transaction.h"
#include "tests/bench/placement/churn.h"

namespace railweave::scheduler::bench {
namespace {

void BM_ConservationAfterEveryOperation(benchmark::State& state) {
  const auto fabric = bench_fabric(FabricKind::rails, 1024);
  const auto& topology = fabric->topology();
  const Hierarchy& hierarchy = fabric->hierarchy();
  const auto& locality = fabric->locality();
  // Groups as the locality numbers them, and as the hierarchy does.
  std::vector<std::vector<std::int64_t>> free;
  std::vector<unsigned> level_of;
  for (const auto& level : locality.levels) {
    level_of.push_back(hierarchy.level_of(level.kind));
    free.emplace_back(level.group_count, 0);
    for (const auto host : topology.hosts()) {
      free.back()[level.group_of_host[host.index()]] += static_cast<std::int64_t>(topology.gpus(host).size());
    }
  }
  std::vector<std::uint64_t> used(topology.hosts().size(), 0);
  std::vector<std::uint8_t> drained(topology.hosts().size(), 0);
  const auto count = [&](fabric::HostId host, std::int64_t gpus) {
    for (std::size_t i = 0; i < free.size(); ++i) free[i][locality.levels[i].group_of_host[host.index()]] += gpus;
  };
  const auto change = [&](const std::vector<fabric::GpuId>& gpus, bool take) {
    for (const auto gpu : gpus) {
      const auto host = topology.host(gpu);
      used[host.index()] ^= std::uint64_t{1} << topology.local_index(gpu);
      if (drained[host.index()] == 0) count(host, take ? -1 : 1);
    }
  };
  Placer placer(fabric);
  std::mt19937_64 random(1);
  const JobMix mix(1024);
  std::vector<std::vector<fabric::GpuId>> running;
  std::uint64_t starts = 0;
  for (auto _ : state) {
    PlacementTransaction tree(placer.tree(), topology);
    const std::uint64_t what = random() % 100;
    if (what < 45) {
      if (auto placement = placer.try_place(bench_job(mix.next(random)))) {
        if (!tree.take(placement->gpu_of_rank)) std::abort();
        change(placement->gpu_of_rank, true);
        running.push_back(std::move(placement->gpu_of_rank));
        ++starts;
      }
      tree.commit();
    } else if (what < 90 && !running.empty()) {
      const std::size_t at = random() % running.size();
      if (!tree.release(running[at])) std::abort();
      if (what < 60) {
        tree.rollback();
      } else {
        change(running[at], false);
        running[at].swap(running.back());
        running.pop_back();
        tree.commit();
      }
    } else if (what >= 98) {
      const fabric::HostId host(random() % topology.hosts().size());
      auto& is_drained = drained[host.index()];
      const auto gpus = static_cast<std::int64_t>(topology.gpus(host).size()) -
                        static_cast<std::int64_t>(__builtin_popcountll(used[host.index()]));
      tree.set_available(host, is_drained != 0);
      count(host, is_drained != 0 ? gpus : -gpus);
      is_drained = is_drained != 0 ? 0 : 1;
      tree.commit();
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (const auto host : topology.hosts()) {
        const auto group = hierarchy.group_of_leaf(level_of[i], hierarchy.host_first_leaf(host));
        if (free[i][locality.levels[i].group_of_host[host.index()]] == placer.tree().free(level_of[i], group)) continue;
        std::fprintf(stderr, "a group of level %u has not free what it should\n", level_of[i]);
        std::abort();
      }
    }
  }
  state.counters["starts"] = static_cast<double>(starts);
}
BENCHMARK(BM_ConservationAfterEveryOperation)->Iterations(1'000'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace railweave::scheduler::bench
