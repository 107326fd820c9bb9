// Reading and writing fabrics: real dumps in MB/s, and native JSON from 1,000 to 100,000 GPUs. Aim: a fabric of 100k
// GPUs is read and built in well under 1.5 s.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <benchmark/benchmark.h>

#include "fabric/formats/infiniband/ibsim.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/read_fabric.h"
#include "fabric/generate/generate.h"

namespace railweave::fabric {
namespace {

std::string shared_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(RAILWEAVE_SHARED_DATA) / path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Reading and building: what an import does before it answers.
void read_dump(benchmark::State& state, const std::string& path) {
  const std::string text = shared_file(path);
  if (text.empty()) {
    state.SkipWithError(("the real dump " + path + " is not on this machine").c_str());
    return;
  }
  for (auto _ : state) {
    auto topology = read_fabric(text);
    if (!topology) state.SkipWithError("the dump cannot be read");
    benchmark::DoNotOptimize(topology);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}
BENCHMARK_CAPTURE(read_dump, selene, "ib/selene.storage.txt")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_dump, dgx_h100, "ib/dgx-h100-ndr.ibnetdiscover.txt")->Unit(benchmark::kMillisecond);

Topology fabric_of(std::int64_t gpus) {
  return generate("rail-optimized",
                  {{"hosts", std::to_string(gpus / 8)}, {"tiers", "3"}, {"planes", "8"}, {"hosts-per-rack", "4"}})
      .value();
}

void write_native(benchmark::State& state) {
  const Topology topology = fabric_of(state.range(0));
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string text = write_native_json(topology);
    bytes = text.size();
    benchmark::DoNotOptimize(text.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.counters["document_MB"] = static_cast<double>(bytes) / 1e6;
}

// The reader alone, into a builder.
void read_native(benchmark::State& state) {
  const std::string text = write_native_json(fabric_of(state.range(0)));
  for (auto _ : state) {
    TopologyBuilder builder;
    if (!read_native_json(text, {}, builder)) state.SkipWithError("the document cannot be read");
    benchmark::DoNotOptimize(builder);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

void read_and_build_native(benchmark::State& state) {
  const std::string text = write_native_json(fabric_of(state.range(0)));
  for (auto _ : state) {
    auto topology = read_fabric(text, Format::native);
    if (!topology) state.SkipWithError("the document cannot be read");
    benchmark::DoNotOptimize(topology);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

void write_netlist(benchmark::State& state) {
  const Topology topology = fabric_of(state.range(0));
  for (auto _ : state) {
    const std::string text = write_ibsim(topology);
    benchmark::DoNotOptimize(text.data());
  }
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1'024)->Arg(10'240)->Arg(102'400)->Unit(benchmark::kMillisecond);
}
BENCHMARK(write_native)->Apply(sizes);
BENCHMARK(read_native)->Apply(sizes);
BENCHMARK(read_and_build_native)->Apply(sizes);
BENCHMARK(write_netlist)->Apply(sizes);

}  // namespace
}  // namespace railweave::fabric
