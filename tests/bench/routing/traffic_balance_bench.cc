// Next hops for the traffic of running jobs, beside what the engine's tables cost in the same run: rings over random hosts, so that flows
// meet on links of every tier.
#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "fabric/routing/engine_registry.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "tests/support/fat_trees.h"

namespace railweave::fabric {
namespace {

using testing::make_fat_tree;

void FollowTraffic(benchmark::State& state) {
  const auto radix = static_cast<unsigned>(state.range(0));
  const unsigned half = radix / 2;
  const auto topology = make_fat_tree({.hosts_per_leaf = half,
                                       .leaves_per_pod = half,
                                       .spines_per_pod = half,
                                       .pods = radix,
                                       .cores_per_spine = half,
                                       .guid_seed = 1});
  const RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
  const RoutingEngine& engine = *choose_engine(*input.scope).engine;
  const auto begun = std::chrono::steady_clock::now();
  const Routing routing = engine.route(input).value();
  const double route_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
  std::vector<PortId> ports;
  for (const DestinationId id : input.scope->destinations()) {
    const PortId port = input.scope->destination(id).port;
    if (port && topology->host(topology->hca_of(port))) ports.push_back(port);
  }
  std::mt19937_64 random(1);
  std::ranges::shuffle(ports, random);
  // Rings of 32 hosts, each of which sends at half of its port's rate.
  constexpr std::size_t kRing = 32;
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::size_t first = i / kRing * kRing, size = std::min(kRing, ports.size() - first);
    demands.push_back({ports[i], ports[first + (i - first + 1) % size], 200'000'000});
  }
  TrafficBalance balance;
  double best_ms = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    balance = balance_traffic(input.view, routing, demands);
    best_ms =
        std::min(best_ms, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["hosts"] = static_cast<double>(ports.size());
  state.counters["fullest_before"] = balance.fullest_before;
  state.counters["fullest"] = balance.fullest;
  state.counters["hops"] = static_cast<double>(balance.hops.size());
  state.counters["times_all_tables"] = best_ms / route_ms;
}
BENCHMARK(FollowTraffic)->ArgName("radix")->Arg(8)->Arg(12)->Arg(24)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace railweave::fabric
