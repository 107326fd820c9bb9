// Routing of generated three-tier fat trees: full tables, reroute after one failed link and after one percent of them,
// audit, delta. One thread unless the name says otherwise. memset_ms is the time of writing as many bytes as the tables
// have, measured in the same run: a lower bound for computing full tables.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <map>
#include <random>

#include <benchmark/benchmark.h>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/fat_trees.h"

namespace railweave::fabric {
namespace {

using testing::FatTreeShape;

FatTreeShape shape_of(std::int64_t hosts) {
  switch (hosts) {
    case 648:
      return testing::tree_of_648();
    case 1728:
      return testing::tree_of_1728();
    case 3456:
      return testing::tree_of_3456();
    case 11664:
      return testing::tree_of_11664();
    default:
      return testing::tree_of_65536();
  }
}

struct Fabric {
  RoutingInput input;
  const RoutingEngine* engine = nullptr;
  Routing routing;
  std::vector<LinkId> switch_links;
};

Fabric& fabric_of(std::int64_t hosts) {
  static std::map<std::int64_t, Fabric> fabrics;
  const auto [at, is_new] = fabrics.try_emplace(hosts);
  Fabric& fabric = at->second;
  if (is_new) {
    const TopologyPtr topology = testing::make_fat_tree(shape_of(hosts));
    fabric.input = {.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
    fabric.engine = choose_engine(*fabric.input.scope).engine;
    fabric.routing = fabric.engine->route(fabric.input).value();
    for (const LinkId link : topology->links()) {
      if (topology->joins_switches(link)) fabric.switch_links.push_back(link);
    }
  }
  return fabric;
}

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double memset_ms(std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  const auto memory = std::make_unique_for_overwrite<char[]>(bytes);
  const auto started = Clock::now();
  std::memset(memory.get(), 1, bytes);
  benchmark::DoNotOptimize(memory.get());
  return std::chrono::duration<double, std::milli>(Clock::now() - started).count();
}

void FullTables(benchmark::State& state) {
  Fabric& fabric = fabric_of(state.range(0));
  RoutingInput input = fabric.input;
  input.threads = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(fabric.engine->route(input));
  const std::size_t bytes = fabric.routing.tables.memory_bytes();
  state.counters["switches"] = static_cast<double>(fabric.input.scope->topology().switches().size());
  state.counters["tables_MiB"] = static_cast<double>(bytes) / (1U << 20U);
  state.counters["memset_ms"] = memset_ms(bytes);
}

// Of a tree that was cabled without some of its links, beside the whole tree, whose tables are in closed form. fullest: the fullest
// link as a share of what the tightest switch's own links must carry (in pairs of host ports).
void LostCables(benchmark::State& state) {
  Fabric& whole = fabric_of(state.range(0));
  FatTreeShape shape = shape_of(state.range(0));
  shape.lost_permille = static_cast<unsigned>(state.range(1));
  const TopologyPtr topology = testing::make_fat_tree(shape);
  const RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
  const RoutingEngine* engine = choose_engine(*input.scope).engine;
  // Of CPU, the least of all: other work on the machine falls on both by chance.
  const auto took_ms = [](const RoutingEngine& by, const RoutingInput& of) {
    const double started = cpu_ms();
    benchmark::DoNotOptimize(by.route(of));
    return cpu_ms() - started;
  };
  double whole_ms = 1e9, lost_ms = 1e9;
  for (auto _ : state) {
    whole_ms = std::min(whole_ms, took_ms(*whole.engine, whole.input));
    const double one_ms = took_ms(*engine, input);
    lost_ms = std::min(lost_ms, one_ms);
    state.SetIterationTime(one_ms / 1000);
  }
  const auto report = audit(input.view, engine->route(input).value().tables, {}, {.shift_samples = 0});
  std::uint64_t bound = 0;
  for (const SwitchId sw : topology->switches()) {
    std::uint64_t hosts = 0, up = 0;
    for (const PortId port : topology->ports(sw)) {
      if (topology->hca_of(topology->peer(port))) ++hosts;
      if (topology->peer(port) && topology->switch_of(topology->peer(port))) ++up;
    }
    if (up > 0) bound = std::max(bound, hosts * (topology->hosts().size() - hosts) / up);
  }
  state.counters["whole_tree_ms"] = whole_ms;
  state.counters["lost_ms"] = lost_ms;
  state.counters["times_whole_tree"] = lost_ms / whole_ms;
  state.counters["fullest"] = static_cast<double>(report.max_link_load_hosts);
  state.counters["bound"] = static_cast<double>(bound);
  state.counters["unreachable"] = static_cast<double>(report.unreachable_pairs);
}

void Scope(benchmark::State& state) {
  Fabric& fabric = fabric_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(RoutingScope::make(fabric.input.scope->topology_ptr()));
}

// Every iteration fails another link and starts from the same healthy tables.
void RerouteOneLink(benchmark::State& state) {
  Fabric& fabric = fabric_of(state.range(0));
  std::size_t next = 0, changed = 0;
  for (auto _ : state) {
    state.PauseTiming();
    RoutingInput broken = fabric.input;
    broken.view.set_state(fabric.switch_links[next = (next + 7919) % fabric.switch_links.size()], LinkState::down);
    state.ResumeTiming();
    Routing after = fabric.engine->reroute(fabric.routing, broken).value();
    benchmark::DoNotOptimize(after);
    state.PauseTiming();
    changed += after.changed_entries;
    after = {};
    state.ResumeTiming();
  }
  state.counters["entries"] = benchmark::Counter(static_cast<double>(changed), benchmark::Counter::kAvgIterations);
}

RoutingInput with_failures(const Fabric& fabric, double share) {
  RoutingInput broken = fabric.input;
  auto links = fabric.switch_links;
  std::mt19937_64 random(7);
  std::shuffle(links.begin(), links.end(), random);
  for (std::size_t i = 0; i < static_cast<std::size_t>(share * static_cast<double>(links.size())); ++i)
    broken.view.set_state(links[i], LinkState::down);
  return broken;
}

void RerouteOnePercent(benchmark::State& state) {
  Fabric& fabric = fabric_of(state.range(0));
  const RoutingInput broken = with_failures(fabric, 0.01);
  for (auto _ : state) benchmark::DoNotOptimize(fabric.engine->reroute(fabric.routing, broken));
  const Routing after = fabric.engine->reroute(fabric.routing, broken).value();
  AuditOptions options;
  options.shift_samples = 0;
  const auto worst = [&](const FabricView& view, const Routing& routing) {
    return static_cast<double>(audit(view, routing.tables, routing.lanes, options).max_link_load_hosts);
  };
  if (state.range(0) > 20000) return;
  state.counters["healthy"] = worst(fabric.input.view, fabric.routing);
  state.counters["worst"] = worst(broken.view, after);
  state.counters["same_as_full"] = after.tables == fabric.engine->route(broken).value().tables ? 1 : 0;
}

void Audit(benchmark::State& state) {
  Fabric& fabric = fabric_of(state.range(0));
  AuditOptions options;
  options.parts = static_cast<std::size_t>(state.range(1));
  options.run = on_threads();
  bool verified = true;
  for (auto _ : state) verified = verified && audit(fabric.input.view, fabric.routing.tables, {}, options).verified();
  state.counters["verified"] = verified ? 1 : 0;
}

void DeltaOneLink(benchmark::State& state) {
  Fabric& fabric = fabric_of(state.range(0));
  RoutingInput broken = fabric.input;
  broken.view.set_state(fabric.switch_links[fabric.switch_links.size() / 3], LinkState::down);
  const Routing after = fabric.engine->reroute(fabric.routing, broken).value();
  ForwardingDelta delta;
  for (auto _ : state) delta = compute_delta(broken.view, fabric.routing, after);
  state.counters["blocks"] = static_cast<double>(delta.changed_blocks);
  state.counters["drops"] = delta.drops_first ? 1 : 0;
}

BENCHMARK(Scope)->Arg(11664)->Unit(benchmark::kMillisecond);
BENCHMARK(FullTables)
    ->ArgNames({"hosts", "threads"})
    ->Args({648, 1})
    ->Args({1728, 1})
    ->Args({11664, 1})
    ->Args({11664, 2})
    ->Args({65536, 1})
    ->Args({65536, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(LostCables)
    ->ArgNames({"hosts", "permille"})
    ->Args({648, 10})
    ->Args({1728, 10})
    ->Args({1728, 100})
    ->Args({3456, 1})
    ->Args({3456, 10})
    ->Args({3456, 100})
    ->Args({11664, 1})
    ->Args({11664, 10})
    ->Args({11664, 100})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10)
    ->UseManualTime();
BENCHMARK(RerouteOneLink)->Arg(648)->Arg(1728)->Arg(11664)->Arg(65536)->Unit(benchmark::kMillisecond)->Iterations(60);
BENCHMARK(RerouteOnePercent)->Arg(1728)->Arg(11664)->Unit(benchmark::kMillisecond);
BENCHMARK(Audit)->Args({1728, 1})->Args({11664, 1})->Args({11664, 2})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(DeltaOneLink)->Arg(1728)->Arg(11664)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::fabric
