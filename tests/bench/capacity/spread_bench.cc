// What a hose can be sold per port where packets have one path, four LIDs' paths, or all shortest paths: the rate, as a part of
// a port's, at which one job on all ports, and jobs of 64 ports spread at random over all, fill the first link. The limit is
// 1: what a port can send. Then how long a load takes to compute beside the same on single paths.
#include <chrono>
#include <random>

#include <benchmark/benchmark.h>

#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/ledger.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"

namespace railweave::fabric {
namespace {

struct Reference {
  const char* name;
  const char* kind;
  GenerateParameters parameters;
};

struct SpreadSite {
  FabricView view;
  RoutingScopePtr scope;
  Routing routing;
  std::vector<PortId> ends;  // of one plane
};

SpreadSite make_site(const Reference& reference, PathSpread spread) {
  SpreadSite made{
      .view = FabricView(std::make_shared<const Topology>(generate(reference.kind, reference.parameters).value()))};
  const Topology& t = made.view.topology();
  for (const SubnetId subnet : t.subnets()) made.view.set_spread(subnet, spread);
  const std::uint8_t lmc = spread == PathSpread::lmc ? 2 : 0;
  made.scope = RoutingScope::make(made.view.topology_ptr(), {.lmc = lmc}).value();
  made.routing =
      choose_engine(*made.scope).engine->route({.view = made.view, .scope = made.scope, .threads = 2}).value();
  PlaneId plane;
  for (const PortId port : t.hca_ports()) {
    const DestinationId id = made.scope->find(port);
    if (!id) continue;
    if (!plane) plane = made.scope->plane_of(id);
    if (made.scope->plane_of(id) == plane) made.ends.push_back(port);
  }
  return made;
}

constexpr std::int64_t kProbeMbps = 1'000'000;

// The jobs' common rate, as a part of a port's, that fills the first link.
double sold(const SpreadSite& site, std::size_t job_size, double& job_seconds) {
  std::mt19937_64 random(7);
  std::vector<PortId> ends = site.ends;
  if (job_size < ends.size()) std::ranges::shuffle(ends, random);
  HoseLoads loads(site.view, site.routing.tables);
  const auto capacity = whole_capacities_mbps(site.view);
  std::vector<double> sum(capacity.size());
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  std::size_t jobs = 0;
  for (std::size_t first = 0; first + job_size <= ends.size(); first += job_size, ++jobs) {
    std::vector<HosePort> ports;
    for (std::size_t i = first; i < first + job_size; ++i) ports.push_back({ends[i], kProbeMbps, kProbeMbps});
    for (const LinkLoad& load : loads.load(ports).loads) sum[load.link] += static_cast<double>(load.mbps);
  }
  job_seconds = std::chrono::duration<double>(Clock::now() - started).count() / static_cast<double>(jobs);
  double part = 1e9;
  const auto port_rate = static_cast<double>(capacity[directed_link(site.view.topology(), ends.front())]);
  for (DirectedLink link = 0; link < sum.size(); ++link) {
    if (sum[link] > 0) part = std::min(part, static_cast<double>(capacity[link]) / sum[link] * kProbeMbps / port_rate);
  }
  return part;
}

void measure(benchmark::State& state, const Reference& reference, bool whole) {
  for (auto _ : state) {
    double single_s = 0;
    for (const PathSpread spread : {PathSpread::single, PathSpread::lmc, PathSpread::adaptive}) {
      const SpreadSite site = make_site(reference, spread);
      double job_s = 0;
      const std::string name(to_text(spread));
      state.counters[name + "_of_port"] = sold(site, whole ? site.ends.size() : 64, job_s);
      state.counters[name + "_ms"] = 1e3 * job_s;
      if (spread == PathSpread::single) single_s = job_s;
      if (spread == PathSpread::adaptive) state.counters["adaptive_time_ratio"] = job_s / single_s;
    }
  }
}

const std::vector<Reference>& references() {
  static const std::vector<Reference> all{
      {"fat_tree_1024_2tiers", "fat-tree", {{"hosts", "1024"}, {"tiers", "2"}, {"nics-per-host", "1"}}},
      {"rail_optimized_512x8", "rail-optimized", {{"hosts", "512"}, {"planes", "8"}}},
      {"fat_tree_2048_3tiers",
       "fat-tree",
       {{"hosts", "2048"}, {"tiers", "3"}, {"radix", "32"}, {"nics-per-host", "1"}}},
  };
  return all;
}

[[maybe_unused]] const bool registered = [] {
  for (const Reference& one : references()) {
    for (const bool whole : {true, false}) {
      benchmark::RegisterBenchmark(
          (std::string("HoseSold/") + one.name + (whole ? "/all_ports" : "/jobs_of_64")).c_str(),
          [&one, whole](benchmark::State& state) { measure(state, one, whole); })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
  }
  return true;
}();

}  // namespace
}  // namespace railweave::fabric
