// How many paths a second the subnet's administration answers, from the datagram of the request to that of the answer, on one thread:
// single questions by GID, as senders ask, on a tree of 11,664 hosts; and what it takes to make a snapshot of the subnet after a change.
// of_50000: the rate as a multiple of 50,000 a second. of_copies: how many datagrams of 256 bytes could be copied in the time of
// one answer, measured in the same run.
#include <chrono>
#include <cstring>
#include <random>

#include <benchmark/benchmark.h>

#include "fabric/base/check.h"
#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/administered_fabric.h"
#include "tests/support/fat_trees.h"

namespace railweave::fabric::infiniband {
namespace {

struct Known {
  Routing routing;
  std::unique_ptr<testing::AdministeredFabric> fabric;
};

const Known& known(std::int64_t hosts) {
  static std::map<std::int64_t, Known> all;
  const auto [at, is_new] = all.try_emplace(hosts);
  if (!is_new) return at->second;
  namespace trees = railweave::fabric::testing;
  RoutingInput input;
  const TopologyPtr topology = trees::make_fat_tree(hosts == 648 ? trees::tree_of_648() : trees::tree_of_11664());
  input.view = FabricView(topology);
  input.scope = RoutingScope::make(topology, {.switch_management = true}).value();
  at->second.routing = choose_engine(*input.scope).engine->route(input).value();
  at->second.fabric =
      std::make_unique<testing::AdministeredFabric>(at->second.routing, 1, [](PortId) { return std::uint8_t{5}; });
  return at->second;
}

double copies_per_second() {
  std::vector<Mad> from(4096), to(4096);
  const auto began = std::chrono::steady_clock::now();
  std::size_t copies = 0;
  for (; std::chrono::steady_clock::now() - began < std::chrono::milliseconds(50); copies += from.size()) {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(Mad));
    benchmark::DoNotOptimize(to.data());
  }
  return static_cast<double>(copies) / std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void PathQueries(benchmark::State& state) {
  const AdministeredSubnet& subnet = known(state.range(0)).fabric->subnet();
  std::mt19937 random(1);
  std::vector<std::pair<Lid, Mad>> requests;
  std::vector<const AdministeredSubnet::EndPort*> ends;
  for (const auto& end : subnet.end_ports()) {
    if (end.port) ends.push_back(&end);
  }
  for (int i = 0; i < 4096; ++i) {
    const auto &from = *ends[random() % ends.size()], &to = *ends[random() % ends.size()];
    Mad mad{};
    SaHeader header;
    header.method = static_cast<std::uint8_t>(SaMethod::get);
    header.attribute = static_cast<std::uint16_t>(SaAttribute::pathRecord);
    header.component_mask = 1U << 2U | 1U << 3U | 1U << 11U | 1U << 12U;
    write_sa_header(mad, header);
    write_be(mad, 64, 8, subnet.gid_prefix());
    write_be(mad, 72, 8, to.guid.value());
    write_be(mad, 80, 8, subnet.gid_prefix());
    write_be(mad, 88, 8, from.guid.value());
    mad[105] = 0x81;
    requests.emplace_back(from.lid, mad);
  }
  std::size_t at = 0, answered = 0;
  const auto began = std::chrono::steady_clock::now();
  for (auto _ : state) {
    const auto& [lid, mad] = requests[at++ % requests.size()];
    const SaAnswer answer = administer(&subnet, mad, lid);
    answered += answer.status() == SaStatus::ok ? 1 : 0;
    benchmark::DoNotOptimize(to_mad(answer));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  RAILWEAVE_CHECK(answered == at, "every pair has a path");
  const double rate = static_cast<double>(at) / seconds;
  state.counters["per_s"] = rate;
  state.counters["of_50000"] = rate / 50'000;
  state.counters["of_copies"] = copies_per_second() / rate;
}
BENCHMARK(PathQueries)->Arg(648)->Arg(11664)->Unit(benchmark::kMicrosecond);

void AllDevices(benchmark::State& state) {
  const AdministeredSubnet& subnet = known(state.range(0)).fabric->subnet();
  Mad mad{};
  SaHeader header;
  header.method = static_cast<std::uint8_t>(SaMethod::getTable);
  header.attribute = static_cast<std::uint16_t>(SaAttribute::nodeRecord);
  header.key = 1;
  write_sa_header(mad, header);
  for (auto _ : state) benchmark::DoNotOptimize(administer(&subnet, mad, 1).records.data());
}
BENCHMARK(AllDevices)->Arg(11664)->Unit(benchmark::kMillisecond);

void Snapshot(benchmark::State& state) {
  const Known& of = known(state.range(0));
  for (auto _ : state) {
    const AdministeredSubnet& subnet = of.fabric->subnet();
    const AdministeredSubnet again(subnet.nodes(), subnet.manager(), of.routing, {}, nullptr);
    benchmark::DoNotOptimize(again.end_ports().size());
  }
}
BENCHMARK(Snapshot)->Arg(11664)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::fabric::infiniband
