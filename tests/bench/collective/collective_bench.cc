// How far off predicted all-reduce times are on measured tables that the fit has not seen, and what predictions cost:
// the placement cost of jobs of 64 to 4,096 GPUs on a fabric of 102,400, and the same job's data-parallel rings phase
// by phase over real routes for comparison.
#include <map>
#include <random>

#include <benchmark/benchmark.h>

#include "scheduler/collective/phase_times.h"
#include "scheduler/collective/placement_cost.h"
#include "scheduler/collective/training_step.h"
#include "tests/support/collective_tables.h"
#include "tests/support/published_collectives.h"
#include "tests/unit/collective/routed_fabric.h"

namespace railweave::scheduler {
namespace {

const std::vector<testing::CollectiveTable>& tables() {
  static const auto all = testing::read_collective_tables(RAILWEAVE_SHARED_DATA);
  return all;
}

std::vector<MeasuredTime> rows_of(std::initializer_list<const char*> names) {
  std::vector<MeasuredTime> rows;
  for (const auto& table : tables()) {
    for (const char* name : names) {
      if (table.file.starts_with(name)) rows.insert(rows.end(), table.rows.begin(), table.rows.end());
    }
  }
  return rows;
}

void report(benchmark::State& state, std::span<const MeasuredTime> train, std::span<const MeasuredTime> test) {
  if (train.empty() || test.empty()) return state.SkipWithError("no shared data: collectives/*.csv");
  CollectiveConstants constants;
  for (auto _ : state) constants = fit_constants(train);
  const FitError fitted = fit_error(train, constants), unseen = fit_error(test, constants);
  state.counters["rows"] = static_cast<double>(test.size());
  state.counters["train_geo_pct"] = 100 * fitted.geometric_mean;
  state.counters["test_geo_pct"] = 100 * unseen.geometric_mean;
  state.counters["test_median_pct"] = 100 * unseen.median;
  state.counters["test_worst_pct"] = 100 * unseen.worst;
}

constexpr const char* kH100x8 = "dgxc_h100_8gpu";
constexpr const char* kH100x16 = "transcribed_h100_16gpu";
constexpr const char* kA100x16 = "oke_a100_16gpu";
constexpr const char* kGb200x72 = "coreweave_gb200";
constexpr const char* kGb300x16 = "transcribed_gb300";

void FitOneNodePredictTwo(benchmark::State& state) { report(state, rows_of({kH100x8}), rows_of({kH100x16})); }
void FitTwoNodesPredictOne(benchmark::State& state) { report(state, rows_of({kH100x16}), rows_of({kH100x8})); }
void FitNvl72PredictSixteen(benchmark::State& state) { report(state, rows_of({kGb200x72}), rows_of({kGb300x16})); }
void FitSixteenPredictNvl72(benchmark::State& state) { report(state, rows_of({kGb300x16}), rows_of({kGb200x72})); }
// Another generation, known by nothing but its nominal rates.
void FitHopperPredictAmpere(benchmark::State& state) {
  report(state, rows_of({kH100x8, kH100x16}), rows_of({kA100x16}));
}
void FitHopperPredictBlackwell(benchmark::State& state) {
  report(state, rows_of({kH100x8, kH100x16}), rows_of({kGb200x72, kGb300x16}));
}
// Every other row of the tables of one generation.
void split(benchmark::State& state, std::initializer_list<const char*> names) {
  std::vector<MeasuredTime> odd, even;
  for (const char* name : names) {
    const auto rows = rows_of({name});
    for (std::size_t i = 0; i < rows.size(); ++i) (i % 2 == 0 ? even : odd).push_back(rows[i]);
  }
  report(state, odd, even);
}
void FitOddRowsPredictEvenHopper(benchmark::State& state) { split(state, {kH100x8, kH100x16}); }
void FitOddRowsPredictEvenBlackwell(benchmark::State& state) { split(state, {kGb200x72, kGb300x16}); }
void FitOddRowsPredictEvenAmpere(benchmark::State& state) { split(state, {kA100x16}); }

BENCHMARK(FitOneNodePredictTwo)->Unit(benchmark::kMillisecond);
BENCHMARK(FitTwoNodesPredictOne)->Unit(benchmark::kMillisecond);
BENCHMARK(FitNvl72PredictSixteen)->Unit(benchmark::kMillisecond);
BENCHMARK(FitSixteenPredictNvl72)->Unit(benchmark::kMillisecond);
BENCHMARK(FitHopperPredictAmpere)->Unit(benchmark::kMillisecond);
BENCHMARK(FitHopperPredictBlackwell)->Unit(benchmark::kMillisecond);
BENCHMARK(FitOddRowsPredictEvenHopper)->Unit(benchmark::kMillisecond);
BENCHMARK(FitOddRowsPredictEvenBlackwell)->Unit(benchmark::kMillisecond);
BENCHMARK(FitOddRowsPredictEvenAmpere)->Unit(benchmark::kMillisecond);

// Tables that no constant is fitted to, with the constants of their generation.
void PublishedTables(benchmark::State& state) {
  static const auto published = testing::published_tables();
  const auto& table = published.at(static_cast<std::size_t>(state.range(0)));
  FitError error;
  for (auto _ : state) error = fit_error(table.rows, find_generation(table.generation)->constants);
  state.SetLabel(std::string(table.of));
  state.counters["rows"] = static_cast<double>(table.rows.size());
  state.counters["geo_pct"] = 100 * error.geometric_mean;
  state.counters["worst_pct"] = 100 * error.worst;
}
BENCHMARK(PublishedTables)->DenseRange(0, 6)->Unit(benchmark::kMicrosecond);

// --- what predictions cost

struct BigFabric {
  BigFabric()
      : topology(fabric::generate("gpus-100k", {}).value()),
        ports(gpu_ports(topology)),
        bundles(topology, fabric::derive_locality(topology), ports),
        capacity(bundles.capacities(std::vector<double>(fabric::directed_link_count(topology), 400'000))) {}
  fabric::Topology topology;
  GpuPorts ports;
  FabricBundles bundles;
  std::vector<double> capacity;
};
const BigFabric& big() {
  static const BigFabric fabric;
  return fabric;
}

// By GPUs and by what of the parallelism a job uses.
Parallelism parallelism_of(std::int64_t gpus, std::int64_t kind) {
  const auto n = static_cast<std::uint32_t>(gpus);
  switch (kind) {
    case 0:
      return {.data = n};
    case 1:
      return {.tensor = 8, .data = n / 64 > 0 ? n / 64 : 1, .pipeline = 8};
    default:
      return {.tensor = 2, .context = 2, .expert = 8, .data = n / 64 > 0 ? n / 64 : 1, .pipeline = 2};
  }
}
constexpr std::array kJobs{"data parallel", "TP 8, PP 8", "TP 2, CP 2, EP 8, PP 2"};
const TrafficSpec kTraffic{{5e10, 4000}, {1e10, 1000}, {2e10, 1000}, {1e10, 48}, {5e9, 48}, {2e9, 200}};

// Whole hosts, side by side or scattered over the fabric.
std::vector<fabric::GpuId> placement(std::int64_t gpus, bool scattered) {
  std::vector<std::size_t> hosts(big().topology.hosts().size());
  for (std::size_t h = 0; h < hosts.size(); ++h) hosts[h] = h;
  std::mt19937_64 random(5);
  if (scattered) std::ranges::shuffle(hosts, random);
  std::vector<fabric::GpuId> all;
  for (std::size_t h = 0; all.size() < static_cast<std::size_t>(gpus); ++h) {
    for (const fabric::GpuId gpu : big().topology.gpus(fabric::HostId(hosts[h]))) all.push_back(gpu);
  }
  return all;
}

void Placement(benchmark::State& state) {
  const bool scattered = state.range(2) != 0;
  const auto gpus = placement(state.range(0), scattered);
  const Parallelism parallelism = parallelism_of(state.range(0), state.range(1));
  PlacementCostModel model(big().bundles, *find_generation("H100"));
  PlacementCost cost;
  for (auto _ : state) cost = model.predict(gpus, parallelism, kTraffic, big().capacity);
  state.SetLabel(std::string(kJobs[static_cast<std::size_t>(state.range(1))]) +
                 (scattered ? ", scattered" : ", packed"));
  state.counters["step_comm_ms"] = cost.total_us / 1e3;
}
BENCHMARK(Placement)->ArgsProduct({{64, 512, 4096}, {0, 1, 2}, {0, 1}})->Unit(benchmark::kMicrosecond);

void Bundles(benchmark::State& state) {
  const auto locality = fabric::derive_locality(big().topology);
  for (auto _ : state) benchmark::DoNotOptimize(FabricBundles(big().topology, locality, big().ports));
}
BENCHMARK(Bundles)->Unit(benchmark::kMillisecond);

void BundleCapacities(benchmark::State& state) {
  const std::vector<double> links(fabric::directed_link_count(big().topology), 400'000);
  for (auto _ : state) benchmark::DoNotOptimize(big().bundles.capacities(links));
}
BENCHMARK(BundleCapacities)->Unit(benchmark::kMillisecond);

// All data rings of a TP 8 job at once, over the routes of forwarding tables and at max-min fair rates.
void RingsOverRoutes(benchmark::State& state) {
  static const testing::RoutedFabric fabric("rail-optimized", {{"hosts", "512"}, {"planes", "8"}});
  const auto gpus = static_cast<std::uint32_t>(state.range(0));
  PhasePlan plan{.phases = {{.repeats = 2.0 * (gpus / 8.0 - 1)}}, .ranks = gpus};
  for (std::uint32_t r = 0; r < gpus; ++r) plan.phases[0].flows.push_back({r, (r + 8) % gpus, 1e9 / (gpus / 8.0)});
  const auto all = fabric.gpus(gpus);
  const RoutedPaths paths = fabric.routed();
  double us = 0;
  for (auto _ : state) us = collective_time(plan, paths, all)->total_us;
  state.counters["collective_ms"] = us / 1e3;
}
BENCHMARK(RingsOverRoutes)->Arg(64)->Arg(512)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::scheduler
