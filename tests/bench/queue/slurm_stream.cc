// The stream of jobs that Slurm's topology plugins were measured on: whole nodes, jobs of 1 to 512 of them, 95% full,
// leaves of 32 nodes. Which policy gives every job of several nodes the fewest leaves, and how many jobs does it
// refuse?
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>

#include <benchmark/benchmark.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer.h"
#include "services/railweave/lab/replay/peer_placers.h"

namespace railweave::scheduler::bench {
namespace {

using fabric::GpuId;

constexpr std::uint32_t kLeafNodes = 32;

PlacementFabricPtr fabric_of(std::uint64_t nodes) {
  auto topology = fabric::generate("fat-tree", {{"hosts", std::to_string(nodes)},
                                                {"hosts-per-leaf", std::to_string(kLeafNodes)},
                                                {"nics-per-host", "1"},
                                                {"tiers", nodes > 2048 ? "3" : "2"}});
  if (!topology) {
    std::fprintf(stderr, "%s\n", topology.error().text().c_str());
    std::abort();
  }
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
}

struct Policy {
  std::function<std::vector<GpuId>(std::uint32_t nodes)> place;
  std::function<void(const std::vector<GpuId>&)> take, release;
};

// `strict`: a job that would span more leaves than it has to is refused, as topology/block does.
void run_stream(benchmark::State& state, const PlacementFabric& fabric, const Policy& policy, bool strict) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  const unsigned leaf_level = hierarchy.level_of(fabric::LevelKind::leaf_group);
  const auto nodes = static_cast<std::uint64_t>(state.range(0));
  std::mt19937_64 random(1);
  std::vector<std::vector<GpuId>> running;
  std::uint64_t used = 0;
  std::uint64_t several = 0, at_least = 0, at_fewest = 0, excess = 0, excess_pods = 0, rejected = 0, tried = 0;
  // What is free, counted beside the policy: the fewest leaves that any policy could have found at that moment.
  std::vector<std::uint32_t> free_nodes(hierarchy.group_count(leaf_level));
  for (GroupIndex leaf = 0; leaf < free_nodes.size(); ++leaf)
    free_nodes[leaf] = hierarchy.capacity(leaf_level, leaf) / 8;
  const auto count = [&](const std::vector<GpuId>& gpus, bool take) {
    for (std::size_t i = 0; i < gpus.size(); i += 8) {
      const LeafIndex host = hierarchy.host_first_leaf(fabric.topology().host(gpus[i]));
      free_nodes[hierarchy.group_of_leaf(leaf_level, host)] += take ? -1U : 1U;
    }
  };
  const auto fewest_leaves = [&](std::uint32_t size) {
    auto most_first = free_nodes;
    std::ranges::sort(most_first, std::greater{});
    std::size_t leaves = 0;
    while (size > 0 && leaves < most_first.size()) size -= std::min(size, most_first[leaves++]);
    return leaves;
  };
  std::vector<double> times_us;
  const auto step = [&](bool measured) {
    // 1 to 512 nodes, every power of two as likely as the next.
    const double drawn = std::exp2(static_cast<double>(random() >> 11U) * 0x1p-53 * 9.0);
    const auto size = std::min<std::uint32_t>(512, static_cast<std::uint32_t>(std::lround(drawn)));
    while (!running.empty() && used + size > nodes * 95 / 100) {
      const std::size_t at = random() % running.size();
      used -= running[at].size() / 8;
      policy.release(running[at]);
      count(running[at], false);
      running[at].swap(running.back());
      running.pop_back();
    }
    const auto begin = std::chrono::steady_clock::now();
    auto gpus = policy.place(size);
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    std::set<GroupIndex> leaves;
    for (const auto gpu : gpus) {
      leaves.insert(hierarchy.group_of_leaf(leaf_level, hierarchy.host_first_leaf(fabric.topology().host(gpu))));
    }
    // Pods, where the fabric has three tiers: the level above leaves below the whole.
    std::set<GroupIndex> pods;
    const unsigned pod_level = leaf_level + 1 < hierarchy.top() ? leaf_level + 1 : hierarchy.top();
    for (const auto gpu : gpus) {
      pods.insert(hierarchy.group_of_leaf(pod_level, hierarchy.host_first_leaf(fabric.topology().host(gpu))));
    }
    const std::size_t pod_nodes = hierarchy.max_capacity(pod_level) / 8;
    const std::size_t least = (size + kLeafNodes - 1) / kLeafNodes;
    const bool placed = !gpus.empty() && (!strict || leaves.size() == least);
    if (measured) {
      ++tried;
      times_us.push_back(us);
      rejected += placed ? 0 : 1;
      if (placed && size > 1) {
        ++several;
        at_least += leaves.size() == least ? 1 : 0;
        at_fewest += leaves.size() == fewest_leaves(size) ? 1 : 0;
        excess += leaves.size() - least;
        excess_pods += pods.size() - (size + pod_nodes - 1) / pod_nodes;
      }
    }
    if (!placed) return;
    policy.take(gpus);
    count(gpus, true);
    used += size;
    running.push_back(std::move(gpus));
  };
  for (int i = 0; i < 500; ++i) step(false);
  for (auto _ : state) step(true);
  std::ranges::sort(times_us);
  state.counters["p50_us"] = times_us[times_us.size() / 2];
  state.counters["p99_us"] = times_us[times_us.size() * 99 / 100];
  state.counters["least_span_%"] = 100.0 * static_cast<double>(at_least) / static_cast<double>(several);
  state.counters["fewest_then_%"] = 100.0 * static_cast<double>(at_fewest) / static_cast<double>(several);
  state.counters["excess_leaves"] = static_cast<double>(excess) / static_cast<double>(several);
  state.counters["excess_pods"] = static_cast<double>(excess_pods);
  state.counters["rejected"] = static_cast<double>(rejected);
}

void railweave_stream(benchmark::State& state, bool strict, PlacementPolicy policy = PlacementPolicy::cost) {
  const auto fabric = fabric_of(static_cast<std::uint64_t>(state.range(0)));
  Placer placer(fabric, {policy});
  const auto change = [&](const std::vector<GpuId>& gpus, bool take) {
    PlacementTransaction transaction(placer.tree(), fabric->topology());
    if (!(take ? transaction.take(gpus) : transaction.release(gpus))) std::abort();
    transaction.commit();
  };
  run_stream(state, *fabric,
             {[&](std::uint32_t nodes) {
                JobSpec spec;
                spec.parallelism.tensor = 8;
                spec.parallelism.data = nodes;
                auto placement = placer.try_place(spec);
                return placement ? std::move(placement->gpu_of_rank) : std::vector<GpuId>();
              },
              [&](const auto& gpus) { change(gpus, true); }, [&](const auto& gpus) { change(gpus, false); }},
             strict);
}
void peer_stream(benchmark::State& state, cli::PeerPolicy policy, bool strict) {
  const auto fabric = fabric_of(static_cast<std::uint64_t>(state.range(0)));
  cli::PeerPlacer peer(*fabric, policy);
  run_stream(state, *fabric,
             {[&](std::uint32_t nodes) { return peer.place(8, nodes); }, [&](const auto& gpus) { peer.take(gpus); },
              [&](const auto& gpus) { peer.release(gpus); }},
             strict);
}
void BM_SlurmStream_Railweave(benchmark::State& state) { railweave_stream(state, false); }
void BM_SlurmStream_RailweaveLeastSpanOnly(benchmark::State& state) { railweave_stream(state, true); }
void BM_SlurmStream_Tree(benchmark::State& state) { peer_stream(state, cli::PeerPolicy::tree, false); }
void BM_SlurmStream_TreeLeastSpanOnly(benchmark::State& state) { peer_stream(state, cli::PeerPolicy::tree, true); }
// The same placements as BestFit of KEP-2724 (BM_AsNaiveBestFit).
void BM_SlurmStream_KepBestFit(benchmark::State& state) { railweave_stream(state, false, PlacementPolicy::best_fit); }
void BM_SlurmStream_FirstFit(benchmark::State& state) { peer_stream(state, cli::PeerPolicy::first_fit, false); }

constexpr auto kStream = [](benchmark::internal::Benchmark* bench) {
  bench->ArgName("nodes")->Arg(1024)->Arg(4096)->Iterations(1500)->Unit(benchmark::kMicrosecond);
};
BENCHMARK(BM_SlurmStream_Railweave)->Apply(kStream);
BENCHMARK(BM_SlurmStream_RailweaveLeastSpanOnly)->Apply(kStream);
BENCHMARK(BM_SlurmStream_Tree)->Apply(kStream);
BENCHMARK(BM_SlurmStream_TreeLeastSpanOnly)->Apply(kStream);
BENCHMARK(BM_SlurmStream_KepBestFit)->Apply(kStream);
BENCHMARK(BM_SlurmStream_FirstFit)->Apply(kStream);

}  // namespace
}  // namespace railweave::scheduler::bench
