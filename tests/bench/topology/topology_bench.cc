// The cost of collecting, laying out and keeping a fabric of 1,000 to 100,000 GPUs: rail-optimized, three tiers, 8 GPUs
// and 8 rails per host, one plane per rail. Goal: 100k GPUs in less than 2 s and 500 MB.
#include <chrono>
#include <string>

#include <benchmark/benchmark.h>

#include "fabric/generate/generate.h"
#include "tests/bench/topology/heap_peak.h"

namespace railweave::fabric {
namespace {

GenerateSpec fabric_of(std::int64_t gpus) {
  return {"rail-optimized",
          {{"hosts", std::to_string(gpus / 8)}, {"tiers", "3"}, {"planes", "8"}, {"hosts-per-rack", "4"}}};
}

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

// From an empty builder to a Topology: the cost of importing a fabric of this size, without reading.
void build_topology(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const GenerateSpec spec = fabric_of(state.range(0));
  double fill_ms = 0;
  std::size_t peak = 0;
  std::size_t kept = 0;
  std::size_t ports = 0;
  for (auto _ : state) {
    reset_heap_peak();
    const auto start = Clock::now();
    TopologyBuilder builder;
    if (!generate_into(spec, builder)) state.SkipWithError("the fabric cannot be made");
    fill_ms += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    auto topology = std::move(builder).build();
    benchmark::DoNotOptimize(topology);
    peak = std::max(peak, heap_peak_bytes());
    if (!topology) state.SkipWithError("the fabric cannot be built");
    kept = topology->memory_bytes();
    ports = topology->all_ports().size();
  }
  state.counters["fill_ms"] = fill_ms / static_cast<double>(state.iterations());
  state.counters["peak_MB"] = megabytes(peak);
  state.counters["topology_MB"] = megabytes(kept);
  state.counters["ports"] = static_cast<double>(ports);
}
BENCHMARK(build_topology)
    ->Arg(1'024)
    ->Arg(4'096)
    ->Arg(16'384)
    ->Arg(51'200)
    ->Arg(102'400)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::fabric
