// Admission of a hose on 65,536 ports (two planes of 32,768, three tiers): jobs on neighbouring ports, and spread over
// the fabric at random. In the same run a maximum flow on every link, from paths walked pair by pair. Then reservations
// that no longer fit after a link failure, and a job's load on a fabric with failures.
#include <chrono>
#include <random>

#include <benchmark/benchmark.h>

#include "fabric/capacity/b_matching.h"
#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/ledger.h"
#include "fabric/capacity/reroute.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/fat_trees.h"

namespace railweave::fabric {
namespace {

struct Fabric {
  FabricView view;
  RoutingScopePtr scope;
  Routing routing;
  std::vector<PortId> ends;  // of a plane together, leaf by leaf
};

const Fabric& fabric(bool failures) {
  const auto make = [](bool broken) {
    Fabric made{.view = FabricView(testing::make_fat_tree(testing::tree_of_65536()))};
    const Topology& t = made.view.topology();
    if (broken) {
      std::mt19937_64 random(3);
      for (const LinkId link : t.links()) {
        if (t.joins_switches(link) && random() % 100 == 0) made.view.set_state(link, LinkState::down);
      }
    }
    made.scope = RoutingScope::make(made.view.topology_ptr()).value();
    made.routing =
        choose_engine(*made.scope).engine->route({.view = made.view, .scope = made.scope, .threads = 2}).value();
    for (const DestinationId id : made.scope->destinations()) made.ends.push_back(made.scope->destination(id).port);
    return made;
  };
  static const Fabric healthy = make(false);
  if (!failures) return healthy;
  static const Fabric broken = make(true);
  return broken;
}

std::vector<HosePort> job_of(const Fabric& on, std::int64_t size, bool spread) {
  std::mt19937_64 random(11);
  std::vector<HosePort> ports;
  const std::size_t plane = on.ends.size() / 2;  // every port of the job meets every other
  std::vector<std::uint8_t> taken(plane, 0);
  while (ports.size() < static_cast<std::size_t>(size)) {
    const std::size_t at = spread ? random() % plane : 96 + ports.size();
    if (taken[at]++ == 0) ports.push_back({on.ends[at], 10'000, 10'000});
  }
  return ports;
}

double seconds(const auto& work) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - started).count();
}

// Every link that any pair crosses: one maximum flow over its pairs.
std::size_t max_flow_per_link(const Fabric& on, const std::vector<HosePort>& ports, LoadVector& loads) {
  const PathWalker walker(on.view, on.routing.tables);
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> pairs(directed_link_count(on.view.topology()));
  std::vector<DirectedLink> path;
  for (std::uint32_t s = 0; s < ports.size(); ++s) {
    for (std::uint32_t d = 0; d < ports.size(); ++d) {
      path.clear();
      if (s == d || !walker.append({ports[s].port, ports[d].port}, path)) continue;
      for (const DirectedLink link : path) pairs[link].emplace_back(s, d);
    }
  }
  std::vector<std::int64_t> send, receive;
  for (const HosePort& port : ports) {
    send.push_back(port.send_mbps);
    receive.push_back(port.receive_mbps);
  }
  std::size_t links = 0;
  for (DirectedLink link = 0; link < pairs.size(); ++link) {
    if (pairs[link].empty()) continue;
    ++links;
    loads.push_back({link, max_b_matching(send, receive, pairs[link])});
  }
  return links;
}

void Admission(benchmark::State& state) {
  const Fabric& on = fabric(false);
  const bool spread = state.range(1) != 0;
  const auto ports = job_of(on, state.range(0), spread);
  HoseLoads loads(on.view, on.routing.tables);
  Ledger ledger(whole_capacities_mbps(on.view), {.class_permille = {100, 900}});
  HoseLoad load;
  double fastest = 1e9;
  for (auto _ : state) {
    fastest = std::min(fastest, seconds([&] {
                         load = loads.load(ports);
                         benchmark::DoNotOptimize(ledger.full_links(load.loads, 1));
                       }));
  }
  state.counters["links"] = static_cast<double>(load.loads.size());
  state.counters["flow_links"] = static_cast<double>(load.flow_links);
  if (state.range(2) != 0) {
    LoadVector flows;
    state.counters["max_flow_over_closed"] = seconds([&] { max_flow_per_link(on, ports, flows); }) / fastest;
    std::size_t differ = 0;
    for (const LinkLoad& one : flows) differ += load_on(load.loads, one.link) != one.mbps ? 1U : 0U;
    state.counters["links_that_differ"] = static_cast<double>(differ);
  }
}

// The first job on new tables: rows of its switches are compared as a whole.
void FirstAdmission(benchmark::State& state) {
  const Fabric& on = fabric(false);
  const auto ports = job_of(on, state.range(0), state.range(1) != 0);
  for (auto _ : state) {
    state.PauseTiming();
    HoseLoads loads(on.view, on.routing.tables);
    state.ResumeTiming();
    benchmark::DoNotOptimize(loads.load(ports));
  }
}

void AdmissionWithFailures(benchmark::State& state) {  // 1 % of the cables between switches are down
  const Fabric& on = fabric(true);
  const auto ports = job_of(on, state.range(0), state.range(1) != 0);
  HoseLoads loads(on.view, on.routing.tables);
  HoseLoad load;
  for (auto _ : state) load = loads.load(ports);
  state.counters["links"] = static_cast<double>(load.loads.size());
  state.counters["flow_links"] = static_cast<double>(load.flow_links);
}

void SetUp(benchmark::State& state) {
  const Fabric& on = fabric(false);
  for (auto _ : state) benchmark::DoNotOptimize(HoseLoads(on.view, on.routing.tables));
}

// 1,024 jobs of 32 ports; a cable between switches fails.
void AfterReroute(benchmark::State& state) {
  const Fabric& on = fabric(false);
  HoseLoads loads(on.view, on.routing.tables);
  Ledger ledger(whole_capacities_mbps(on.view), {.class_permille = {100, 900}});
  std::vector<ReservationPtr> all;
  for (std::size_t job = 0; job < 1024; ++job) {
    auto one = std::make_shared<Reservation>();
    one->job = "job-" + std::to_string(job);
    one->qos_class = 1;
    for (std::size_t i = 0; i < 32; ++i)
      one->ports.push_back({on.ends[(job * 32 + i * 37) % (on.ends.size() / 2)], 1000, 1000});
    one->loads = loads.load(one->ports).loads;
    ledger.reserve(one);
  }
  FabricView after = on.view;
  for (const LinkId link : on.view.topology().links()) {
    if (!on.view.topology().joins_switches(link)) continue;
    after.set_state(link, LinkState::down);
    break;
  }
  const Routing rerouted =
      choose_engine(*on.scope).engine->reroute(on.routing, {.view = after, .scope = on.scope}).value();
  HoseLoads fresh(after, rerouted.tables);
  std::size_t crossing = 0;
  for (auto _ : state) {
    Ledger copy = ledger;
    const auto changed = crossing_changes(copy, on.view, on.routing.tables, after, rerouted.tables);
    crossing = changed.size();
    benchmark::DoNotOptimize(recompute(copy, changed, fresh));
  }
  state.counters["jobs_crossing"] = static_cast<double>(crossing);
}

BENCHMARK(Admission)->Args({16, 0, 1})->Args({256, 0, 1})->Args({1024, 0, 1})->Unit(benchmark::kMicrosecond);
BENCHMARK(Admission)->Args({16, 1, 0})->Args({256, 1, 0})->Args({1024, 1, 1})->Unit(benchmark::kMicrosecond);
BENCHMARK(FirstAdmission)->Args({1024, 0})->Args({1024, 1})->Unit(benchmark::kMicrosecond);
BENCHMARK(AdmissionWithFailures)->Args({1024, 0})->Args({1024, 1})->Unit(benchmark::kMicrosecond);
BENCHMARK(SetUp)->Unit(benchmark::kMillisecond);
BENCHMARK(AfterReroute)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::fabric
