// Max-min fair rates of 10,000 to 1,000,000 flows between random hosts of a fat tree of 11,664 (three tiers, 1,620
// switches), on one thread, compared with naive water filling in the same run where that is fast enough. Paths follow
// the routing's tables: 100,000 and more walks.
#include <chrono>
#include <random>

#include <benchmark/benchmark.h>

#include "fabric/flow/class_shares.h"
#include "fabric/flow/flow_paths.h"
#include "fabric/flow/max_min.h"
#include "fabric/flow/merged_flows.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/flow/naive_water_filling.h"

namespace railweave::fabric {
namespace {

struct Fabric {
  FabricView view;
  Routing routing;
  std::vector<double> capacity;
  std::vector<PortId> ends;
};

const Fabric& fabric() {
  static const Fabric one = [] {
    const TopologyPtr topology = testing::make_fat_tree(testing::tree_of_11664());
    Fabric made{.view = FabricView(topology), .routing = {}, .capacity = {}, .ends = {}};
    const auto scope = RoutingScope::make(topology).value();
    made.routing = choose_engine(*scope).engine->route({.view = made.view, .scope = scope}).value();
    made.capacity = link_capacities_mbps(made.view);
    for (const PortId port : topology->hca_ports()) made.ends.push_back(port);
    return made;
  }();
  return one;
}

std::vector<EndPortPair> random_pairs(std::int64_t count) {
  std::mt19937_64 random(7);
  const auto& ends = fabric().ends;
  std::vector<EndPortPair> pairs;
  while (pairs.size() < static_cast<std::size_t>(count)) {
    const EndPortPair pair{ends[random() % ends.size()], ends[random() % ends.size()]};
    if (pair.from != pair.to) pairs.push_back(pair);
  }
  return pairs;
}

double seconds(const auto& work) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - started).count();
}

void Rates(benchmark::State& state) {
  const FlowPaths paths = PathWalker(fabric().view, fabric().routing.tables).paths(random_pairs(state.range(0)));
  const FlowProblem problem{.capacity = fabric().capacity, .first = paths.first, .links = paths.links};
  MaxMinSolver solver;
  FlowRates rates;
  double fastest = 1e9;
  for (auto _ : state) {
    fastest = std::min(fastest, seconds([&] { solver.solve(problem, rates); }));
    benchmark::DoNotOptimize(rates.rate.data());
  }
  // Naively, 100,000 flows take minutes: 3,100 times as long.
  if (state.range(0) <= 10'000) {
    state.counters["naive_over_heap"] =
        seconds([&] { benchmark::DoNotOptimize(testing::naive_water_filling(problem)); }) / fastest;
  }
}

void RatesInFourClasses(benchmark::State& state) {
  const FlowPaths paths = PathWalker(fabric().view, fabric().routing.tables).paths(random_pairs(state.range(0)));
  std::vector<std::uint8_t> class_of(paths.size());
  for (std::size_t f = 0; f < class_of.size(); ++f) class_of[f] = f % 4;
  const std::vector<double> weight{8, 4, 2, 1};
  const ClassProblem problem{.flows = {.capacity = fabric().capacity, .first = paths.first, .links = paths.links},
                             .class_of = class_of,
                             .classes = 4,
                             .class_weight = weight};
  ClassRates rates;
  for (auto _ : state) rates = class_shared_rates(problem);
  state.counters["rounds"] = rates.rounds;
  state.counters["settled"] = rates.settled ? 1 : 0;
}

void Paths(benchmark::State& state) {
  const auto pairs = random_pairs(state.range(0));
  const PathWalker walker(fabric().view, fabric().routing.tables);
  for (auto _ : state) benchmark::DoNotOptimize(walker.paths(pairs));
}

void WalkerSetUp(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(PathWalker(fabric().view, fabric().routing.tables));
}

void Merge(benchmark::State& state) {
  const FlowPaths paths = PathWalker(fabric().view, fabric().routing.tables).paths(random_pairs(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(merge_flows(paths.first, paths.links));
}

BENCHMARK(Rates)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(RatesInFourClasses)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(Paths)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(WalkerSetUp)->Unit(benchmark::kMillisecond);
BENCHMARK(Merge)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::fabric
