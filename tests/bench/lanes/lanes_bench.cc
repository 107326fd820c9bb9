// How many lanes jobs of their own need while jobs come and go at 95 % fill, by how jobs are placed: the lowest colour that no
// other job has on any directed link of the job's routes (fabric/capacity/lane_owners.h, here without its limit of 16); and
// beside it, as if a job that spans leaves had all uplinks of its leaves, whichever routes there are.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>

#include <benchmark/benchmark.h>

#include "fabric/base/check.h"
#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/ledger.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer.h"
#include "services/control/views/job_ports.h"
#include "tests/bench/lanes/job_sizes.h"

namespace railweave::control {
namespace {

using fabric::GpuId;

enum How : std::int64_t { ours, first_fit, at_random };
enum Kind : std::int64_t { hosts_1024_2_tiers, hosts_512_8_rails, hosts_2048_3_tiers, hosts_12800_3_tiers };

struct Site {
  fabric::TopologyPtr topology;
  scheduler::PlacementFabricPtr placement;
  fabric::RoutingScopePtr scope;
  fabric::Routing routing;
};

const Site& site_of(Kind kind) {
  static std::map<Kind, Site> built;
  const auto [at, is_new] = built.try_emplace(kind);
  Site& site = at->second;
  if (!is_new) return site;
  const std::map<Kind, std::pair<const char*, fabric::GenerateParameters>> shapes = {
      {hosts_1024_2_tiers, {"fat-tree", {{"hosts", "1024"}, {"tiers", "2"}, {"nics-per-host", "1"}, {"radix", "64"}}}},
      {hosts_512_8_rails, {"rail-optimized", {{"hosts", "512"}, {"tiers", "2"}, {"planes", "8"}}}},
      {hosts_2048_3_tiers, {"fat-tree", {{"hosts", "2048"}, {"tiers", "3"}, {"nics-per-host", "1"}, {"radix", "32"}}}},
      {hosts_12800_3_tiers,
       {"fat-tree", {{"hosts", "12800"}, {"tiers", "3"}, {"nics-per-host", "1"}, {"radix", "64"}}}}};
  const auto& [name, parameters] = shapes.at(kind);
  auto made = fabric::generate(name, parameters);
  RAILWEAVE_CHECK(made.has_value(), made ? "" : made.error().text().c_str());
  site.topology = std::make_shared<const fabric::Topology>(std::move(*made));
  site.placement = std::make_shared<const scheduler::PlacementFabric>(site.topology);
  site.scope = fabric::RoutingScope::make(site.topology).value();
  site.routing = fabric::choose_engine(*site.scope)
                     .engine->route({.view = fabric::FabricView(site.topology), .scope = site.scope})
                     .value();
  return site;
}

// Up to 128 colours.
struct Colours {
  std::array<std::uint64_t, 2> taken{};
  [[nodiscard]] unsigned lowest_free() const {
    const auto low = static_cast<unsigned>(std::countr_one(taken[0]));
    return low < 64 ? low : 64 + static_cast<unsigned>(std::countr_one(taken[1]));
  }
};

struct Running {
  std::vector<GpuId> gpus;
  fabric::LoadVector loads;
  unsigned colour = 0;
  std::vector<fabric::SwitchId> leaves;  // that it spans; none within one leaf of each rail
  unsigned leaf_colour = 0;
};

class Stream {
 public:
  Stream(const Site& site, How how)
      : site_(site),
        how_(how),
        placer_(site.placement),
        loads_(fabric::FabricView(site.topology), site.routing.tables),
        colours_(fabric::directed_link_count(*site.topology)),
        free_(site.topology->hosts().size()) {
    for (const auto host : site.topology->hosts()) {
      free_[host.index()] = (std::uint64_t{1} << site.topology->gpus(host).size()) - 1;
    }
  }

  // The next job of the stream, whatever was placed before: sizes are the same for each way of placing.
  void next() {
    const std::uint32_t size = bench::next_size(random_);
    const auto all = site_.topology->gpus().size();
    while (!running_.empty() && (used_ + size) * 100 > all * 95) end(random_() % running_.size());
    start(size);
  }

  [[nodiscard]] unsigned lanes() const {
    unsigned most = 0;
    for (const Running& job : running_) most = std::max(most, job.loads.empty() ? 0 : job.colour + 1);
    return most;
  }
  [[nodiscard]] unsigned lanes_by_leaves() const {
    unsigned most = 0;
    for (const Running& job : running_) most = std::max(most, job.leaves.empty() ? 0 : job.leaf_colour + 1);
    return most;
  }
  [[nodiscard]] std::size_t jobs() const { return running_.size(); }
  std::vector<double> ports, us;  // of every start with links: ports written, time to find its lane

 private:
  void start(std::uint32_t size) {
    scheduler::JobSpec spec;
    spec.parallelism.tensor = std::min<std::uint32_t>(8, size);
    spec.parallelism.data = size / spec.parallelism.tensor;
    Running job;
    if (how_ == ours) {
      const auto placed = placer_.try_place(spec);
      if (!placed) return;
      job.gpus = placed->gpu_of_rank;
      scheduler::PlacementTransaction change(placer_.tree(), *site_.topology);
      RAILWEAVE_CHECK(change.take(job.gpus), "the GPUs are free");
      change.commit();
    } else {
      job.gpus = anywhere(size);
    }
    used_ += job.gpus.size();
    const auto begin = std::chrono::steady_clock::now();
    std::vector<fabric::HosePort> hose;
    for (const auto port : job_ports(*site_.placement, job.gpus)) hose.push_back({port, 1'000, 1'000});
    if (hose.size() > 1) job.loads = loads_.load(hose).loads;
    Colours met;
    for (const auto& load : job.loads) {
      met.taken[0] |= colours_[load.link].taken[0];
      met.taken[1] |= colours_[load.link].taken[1];
    }
    job.colour = met.lowest_free();
    const auto spent = std::chrono::steady_clock::now() - begin;
    RAILWEAVE_CHECK(job.colour < 128, "colours suffice");
    for (const auto& load : job.loads)
      colours_[load.link].taken[job.colour / 64] |= std::uint64_t{1} << job.colour % 64;
    if (!job.loads.empty()) {
      ports.push_back(static_cast<double>(job.loads.size()));
      us.push_back(std::chrono::duration<double, std::micro>(spent).count());
    }
    span_leaves(job);
    running_.push_back(std::move(job));
  }
  void span_leaves(Running& job) {
    const fabric::Topology& t = *site_.topology;
    std::map<fabric::PlaneId, std::set<fabric::SwitchId>> leaves;
    for (const auto port : job_ports(*site_.placement, job.gpus)) {
      if (!t.peer(port) || !t.is_switch_port(t.peer(port))) continue;
      const auto leaf = t.switch_of(t.peer(port));
      leaves[site_.scope->plane_of(leaf)].insert(leaf);
    }
    Colours met;
    for (const auto& [plane, some] : leaves) {
      if (some.size() < 2) continue;
      for (const auto leaf : some) {
        job.leaves.push_back(leaf);
        for (int word = 0; word < 2; ++word) met.taken[word] |= leaf_colours_[leaf].taken[word];
      }
    }
    job.leaf_colour = met.lowest_free();
    RAILWEAVE_CHECK(job.leaf_colour < 128, "colours suffice");
    for (const auto leaf : job.leaves)
      leaf_colours_[leaf].taken[job.leaf_colour / 64] |= std::uint64_t{1} << job.leaf_colour % 64;
  }

  // Free GPUs host by host, in order or at random.
  std::vector<GpuId> anywhere(std::uint32_t size) {
    std::vector<GpuId> gpus;
    const std::size_t hosts = free_.size();
    std::size_t at = how_ == first_fit ? 0 : random_places_() % hosts;
    while (gpus.size() < size) {
      const fabric::HostId host(static_cast<std::uint32_t>(at));
      for (const GpuId gpu : site_.topology->gpus(host)) {
        const std::uint64_t bit = std::uint64_t{1} << site_.topology->local_index(gpu);
        if (gpus.size() == size || (free_[at] & bit) == 0) continue;
        free_[at] &= ~bit;
        gpus.push_back(gpu);
      }
      at = how_ == first_fit ? at + 1 : random_places_() % hosts;
    }
    return gpus;
  }

  void end(std::size_t at) {
    Running& job = running_[at];
    used_ -= job.gpus.size();
    for (const auto& load : job.loads)
      colours_[load.link].taken[job.colour / 64] &= ~(std::uint64_t{1} << job.colour % 64);
    for (const auto leaf : job.leaves)
      leaf_colours_[leaf].taken[job.leaf_colour / 64] &= ~(std::uint64_t{1} << job.leaf_colour % 64);
    if (how_ == ours) {
      scheduler::PlacementTransaction change(placer_.tree(), *site_.topology);
      RAILWEAVE_CHECK(change.release(job.gpus), "the GPUs are taken");
      change.commit();
    }
    for (const GpuId gpu : job.gpus) {
      free_[site_.topology->host(gpu).index()] |= std::uint64_t{1} << site_.topology->local_index(gpu);
    }
    std::swap(running_[at], running_.back());
    running_.pop_back();
  }

  const Site& site_;
  How how_;
  scheduler::Placer placer_;
  fabric::HoseLoads loads_;
  std::vector<Colours> colours_;  // by directed link
  std::map<fabric::SwitchId, Colours> leaf_colours_;
  std::vector<std::uint64_t> free_;  // by host, a bit for each GPU
  std::vector<Running> running_;
  std::size_t used_ = 0;
  std::mt19937_64 random_{1}, random_places_{2};
};

void lanes_needed(benchmark::State& state) {
  const Site& site = site_of(static_cast<Kind>(state.range(0)));
  for (auto _ : state) {
    Stream stream(site, static_cast<How>(state.range(1)));
    const std::size_t gpus = site.topology->gpus().size();
    for (std::size_t i = 0; i < gpus / 5; ++i) stream.next();  // to a steady state: each GPU was taken twice
    std::vector<double> lanes, by_leaves, jobs;
    stream.ports.clear();
    stream.us.clear();
    for (int i = 0; i < 2'000; ++i) {
      stream.next();
      if (i % 10 == 0) {
        lanes.push_back(stream.lanes());
        by_leaves.push_back(stream.lanes_by_leaves());
        jobs.push_back(static_cast<double>(stream.jobs()));
      }
    }
    state.counters["lanes_p50"] = bench::quantile(lanes, 0.5);
    state.counters["lanes_max"] = bench::quantile(lanes, 1);
    state.counters["leaves_p50"] = bench::quantile(by_leaves, 0.5);
    state.counters["leaves_max"] = bench::quantile(by_leaves, 1);
    state.counters["jobs"] = bench::quantile(jobs, 0.5);
    state.counters["ports_p50"] = bench::quantile(stream.ports, 0.5);
    state.counters["ports_p99"] = bench::quantile(stream.ports, 0.99);
    state.counters["us_p99"] = bench::quantile(stream.us, 0.99);
  }
}
BENCHMARK(lanes_needed)
    ->ArgNames({"fabric", "placed"})
    ->ArgsProduct({{hosts_1024_2_tiers, hosts_512_8_rails, hosts_2048_3_tiers}, {ours, first_fit, at_random}})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

// Fifty tenants, each with a job of 64 to 436 hosts by seed: 12,500 of 12,800, placed or on any hosts.
void lanes_of_50_tenants(benchmark::State& state) {
  const Site& site = site_of(hosts_12800_3_tiers);
  const fabric::Topology& t = *site.topology;
  fabric::HoseLoads hoses(fabric::FabricView(site.topology), site.routing.tables);
  const bool is_scattered = state.range(0) != 0;
  for (auto _ : state) {
    scheduler::Placer placer(site.placement);
    std::vector<fabric::HostId> hosts(t.hosts().begin(), t.hosts().end());
    std::vector<std::uint32_t> sizes;  // each with its complement: 500 hosts
    std::mt19937_64 random(3);
    for (int pair = 0; pair < 25; ++pair) {
      sizes.push_back(64 + static_cast<std::uint32_t>(random() % 373));
      sizes.push_back(500 - sizes.back());
    }
    std::ranges::shuffle(hosts, random);
    std::vector<Colours> colours(fabric::directed_link_count(t));
    unsigned lanes = 0;
    std::size_t taken = 0;
    for (const std::uint32_t size : sizes) {
      std::vector<GpuId> gpus;
      if (is_scattered) {
        for (std::size_t h = taken; h < taken + size; ++h) {
          for (const GpuId gpu : t.gpus(hosts[h])) gpus.push_back(gpu);
        }
        taken += size;
      } else {
        scheduler::JobSpec spec;
        spec.parallelism.tensor = 8;
        spec.parallelism.data = size;
        const auto placed = placer.try_place(spec);
        RAILWEAVE_CHECK(placed.has_value(), "there is room");
        gpus = placed->gpu_of_rank;
        scheduler::PlacementTransaction change(placer.tree(), t);
        RAILWEAVE_CHECK(change.take(gpus), "the GPUs are free");
        change.commit();
      }
      std::vector<fabric::HosePort> hose;
      for (const auto port : job_ports(*site.placement, gpus)) hose.push_back({port, 1'000, 1'000});
      const auto load = hoses.load(hose);
      Colours met;
      for (const auto& one : load.loads) {
        for (int word = 0; word < 2; ++word) met.taken[word] |= colours[one.link].taken[word];
      }
      const unsigned colour = met.lowest_free();
      for (const auto& one : load.loads) colours[one.link].taken[colour / 64] |= std::uint64_t{1} << colour % 64;
      lanes = std::max(lanes, colour + 1);
    }
    state.counters["lanes"] = lanes;
  }
}
BENCHMARK(lanes_of_50_tenants)->ArgName("scattered")->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace railweave::control
