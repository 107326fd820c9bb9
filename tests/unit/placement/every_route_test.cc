// The place that is chosen on routes against every place that there is: each assignment of ranks to free GPUs of small, partly
// full fabrics with uplinks that are cut, each predicted on the forwarding tables. What a place costs is said here again, from
// the flows of its groups: tables followed switch by switch, bytes added up link by link.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "scheduler/collective/job_flows.h"
#include "scheduler/placement/score/routed_jobs.h"
#include "small_fabric.h"
#include "tests/support/seeds.h"

namespace railweave::scheduler::every_route_test {
namespace {

using fabric::GpuId;
using testing_support::below;
using testing_support::Random;

// Hosts of two or four GPUs on leaves of two hosts, each leaf with a few links upwards.
PlacementFabricPtr random_tree(Random& random) {
  const std::string gpus = below(random, 2) == 0 ? "2" : "4", spines = std::to_string(2 + below(random, 3));
  auto topology = fabric::generate("fat-tree", {{"hosts", std::to_string(6 + 2 * below(random, 2))},
                                                {"gpus-per-host", gpus},
                                                {"nics-per-host", gpus},
                                                {"nvlink-domain", below(random, 3) == 0 ? "1" : gpus},
                                                {"hosts-per-leaf", "2"},
                                                {"down-ports", "8"},
                                                {"radix", "32"},
                                                {"uplinks", spines}});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
}

// About half of the links between switches are cut, none that is the last one between two of them.
fabric::FabricView cut_some(Random& random, const fabric::TopologyPtr& topology) {
  fabric::FabricView view(topology);
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> left;
  const auto ends = [&](fabric::LinkId link) {
    const auto a = topology->switch_of(topology->a(link)), b = topology->switch_of(topology->b(link));
    return std::pair(std::min(a.index(), b.index()), std::max(a.index(), b.index()));
  };
  for (const auto link : topology->links()) {
    if (topology->joins_switches(link)) ++left[ends(link)];
  }
  for (const auto link : topology->links()) {
    if (!topology->joins_switches(link) || below(random, 2) == 0) continue;
    auto& rest = left[ends(link)];
    if (rest < 2) continue;
    --rest;
    view.set_state(link, fabric::LinkState::down);
  }
  return view;
}

struct Routed {
  fabric::FabricView view;
  fabric::RoutingScopePtr scope;
  fabric::Routing routing;
  explicit Routed(const fabric::FabricView& of)
      : view(of),
        scope(fabric::RoutingScope::make(of.topology_ptr()).value()),
        routing(fabric::choose_engine(*scope).engine->route({.view = view, .scope = scope}).value()) {}
};

// Microseconds of a place's communication on the tables, alone. Every GPU has one adapter port.
class OnTables {
 public:
  OnTables(const PlacementFabric& fabric, const Routed& routed, const JobSpec& spec)
      : fabric_(fabric),
        t_(fabric.topology()),
        routed_(routed),
        p_(spec.parallelism),
        traffic_(traffic_of_job(spec).traffic),
        generation_(generation_of(fabric)),
        model_(fabric.bundles(), generation_) {}

  double operator()(std::span<const GpuId> gpus) {
    LinkTraffic bundled;
    const auto cost = model_.predict(gpus, p_, traffic_, fabric_.nominal_mbps(), {}, &bundled);
    double total = 0;
    for (std::size_t g = 0; g < kCommGroups; ++g) {
      const auto group = static_cast<CommGroup>(g);
      const auto& sent = traffic_of_group(traffic_, group);
      if (sent.bytes <= 0 || cost.groups[g].domains == 0) continue;
      total += group_us(gpus, group, sent, cost.groups[g].domains, nvlink_us(bundled.groups[g]));
    }
    return total;
  }

 private:
  struct Path {
    std::vector<std::size_t> ports;  // that packets leave by
    double us = 0;
  };

  // The slowest NVLink of all phases together.
  [[nodiscard]] double nvlink_us(const GroupLoad& load) const {
    double us = 0;
    for (const auto& phase : load.phases) {
      double slowest = 0;
      for (const auto& on : phase) {
        if (fabric_.bundles().kind(on.link) != FabricBundles::Kind::nvlink) continue;
        slowest = std::max(slowest, on.bytes * 8 / fabric_.nominal_mbps()[on.link]);
      }
      us += slowest;
    }
    return us;
  }

  double group_us(std::span<const GpuId> gpus, CommGroup group, const GroupTraffic& sent, std::uint32_t domains,
                  double floor_us) {
    const std::size_t phases = group == CommGroup::pipeline && domains > 1 ? 2 : 1;
    std::vector<std::map<std::size_t, double>> bytes(phases);
    double path_us = 0;
    std::size_t turn = 0;
    for (const RankFlow& flow : job_flows(fabric_.bundles(), gpus, p_, traffic_, group, generation_.nvls)) {
      if (domains == 1) break;
      const std::size_t phase = turn++ % phases;
      const GpuId from = gpus[flow.from], to = gpus[flow.to];
      const auto &a = fabric_.bundles().place(from), &b = fabric_.bundles().place(to);
      if (a.unit == b.unit || a.host == b.host || flow.bytes <= 0) continue;
      const Path& path = path_of(from, to);
      for (const std::size_t port : path.ports) {
        bytes[phase][port] += flow.bytes / generation_.constants.network_efficiency;
      }
      path_us = std::max(path_us, path.us);
    }
    double transfer_us = 0;
    for (const auto& phase : bytes) {
      double slowest = floor_us / static_cast<double>(phases);
      for (const auto& [port, sum] : phase) {
        const auto link = t_.link(fabric::PortId(port));
        slowest = std::max(slowest, sum * 8 / static_cast<double>(routed_.view.rate(link).value()));
      }
      transfer_us += slowest;
    }
    const double us = group_time_us(generation_, group, sent, group_size(p_, group), domains, transfer_us);
    return us + std::max(sent.calls, 1.0) * 2 * std::log2(std::max(2.0, static_cast<double>(domains))) * path_us;
  }

  const Path& path_of(GpuId from, GpuId to) {
    const auto [known, added] = paths_.try_emplace({from.value(), to.value()});
    Path& path = known->second;
    if (!added) return path;
    const auto out = fabric_.gpu_ports().of(from).front(), in = fabric_.gpu_ports().of(to).front();
    const auto destination = routed_.scope->find(in);
    PathShape shape{.switches = 0, .cable_m = 0, .network = true};
    for (auto port = out;;) {
      path.ports.push_back(port.index());
      shape.cable_m += LatencyConstants{}.default_cable_m;
      const auto at = t_.peer(port);
      if (at == in) break;
      EXPECT_LT(path.ports.size(), 16U) << "a loop";
      const auto sw = t_.switch_of(at);
      ++shape.switches;
      port = t_.ports(sw)[routed_.routing.tables.out_port(sw, destination) - std::size_t{1}];
      EXPECT_NE(routed_.view.state(t_.link(port)), fabric::LinkState::down);
    }
    path.us = scheduler::path_us(shape);
    return path;
  }

  const PlacementFabric& fabric_;
  const fabric::Topology& t_;
  const Routed& routed_;
  Parallelism p_;
  TrafficSpec traffic_;
  const GpuGeneration& generation_;
  PlacementCostModel model_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Path> paths_;
};

// The fastest of all places whose tensor groups share a domain.
class FastestPlace {
 public:
  FastestPlace(const testing_support::SmallCase& on, Parallelism p, OnTables& ruler)
      : on_(on), p_(p), ruler_(ruler), used_(on.free.size(), false) {
    assign();
  }
  double us = std::numeric_limits<double>::infinity();

 private:
  void assign() {  // NOLINT(misc-no-recursion)
    if (gpus_.size() == rank_count(p_)) {
      us = std::min(us, ruler_(gpus_));
      return;
    }
    const auto unit = [&](GpuId gpu) { return on_.fabric->bundles().place(gpu).unit; };
    for (std::size_t i = 0; i < on_.free.size(); ++i) {
      if (used_[i] || (gpus_.size() % p_.tensor != 0 && unit(gpus_.back()) != unit(on_.free[i]))) continue;
      used_[i] = true;
      gpus_.push_back(on_.free[i]);
      assign();
      gpus_.pop_back();
      used_[i] = false;
    }
  }

  const testing_support::SmallCase& on_;
  Parallelism p_;
  OnTables& ruler_;
  std::vector<bool> used_;
  std::vector<GpuId> gpus_;
};

double places(std::size_t free, std::size_t ranks) {
  double all = 1;
  for (std::size_t i = 0; i < ranks; ++i) all *= static_cast<double>(free - i);
  return all;
}

struct Tally {
  double worst = 1;
  int over = 0;
  void add(double ratio) {
    worst = std::max(worst, ratio);
    over += ratio > 1.02 ? 1 : 0;
  }
};

TEST(EveryRoute, ThePlaceThatIsChosenOnRoutesIsNearTheBest) {
  constexpr std::array<Parallelism, 8> kJobs{{{.data = 4},
                                              {.data = 5},
                                              {.data = 6},
                                              {.tensor = 2, .data = 2},
                                              {.tensor = 2, .data = 3},
                                              {.expert = 2, .data = 2},
                                              {.data = 2, .pipeline = 2},
                                              {.data = 3, .pipeline = 2}}};
  constexpr double kMaxPlaces = 20'000;
  Tally on_bundles, on_routes;
  int cases = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(240); ++seed) {
    Random random(seed);
    const auto fabric = random_tree(random);
    const Parallelism p = kJobs[below(random, kJobs.size())];
    std::size_t most_free = rank_count(p);
    while (places(most_free + 1, rank_count(p)) <= kMaxPlaces && most_free < 12) ++most_free;
    const auto on = testing_support::partly_full(random, fabric, 0.3, most_free);
    const Routed routed(cut_some(random, fabric->topology_ptr()));
    const JobSpec spec = testing_support::with_random_traffic(random, p);
    Placer placer(fabric);
    placer.sync(on.allocations);
    placer.set_capacities(fabric->capacities_mbps(routed.view));
    const auto before = placer.try_place(spec);
    if (!before) continue;
    RoutedJobs jobs(fabric, routed.view, routed.routing.tables);
    placer.set_routes(&jobs);
    const auto after = placer.place_or_say_why(spec);
    ASSERT_EQ(after.outcome, Outcome::placed);
    ++cases;
    OnTables ruler(*fabric, routed, spec);
    const double best_us = FastestPlace(on, p, ruler).us;
    const double before_us = ruler(before->gpu_of_rank), after_us = ruler(after.placement.gpu_of_rank);
    if (after.routed) {
      EXPECT_NEAR(after.routed->chosen.communication_us, after_us, after_us * 1e-9) << "seed " << seed;
    }
    EXPECT_LE(after_us, before_us * (1 + 1e-9)) << "seed " << seed;
    on_bundles.add(before_us / best_us);
    on_routes.add(after_us / best_us);
  }
  std::printf("%d cases: on bundles worst %.2f times the best, %d over 1.02; on routes worst %.2f, %d over 1.02\n",
              cases, on_bundles.worst, on_bundles.over, on_routes.worst, on_routes.over);
  EXPECT_GT(cases, static_cast<int>(part_of_seeds(240) / 3));
  EXPECT_LE(on_routes.worst, 1.02);
  EXPECT_GT(on_bundles.over, 0) << "there is something for routes to choose";
}

// Beside jobs that are placed: what they send is counted on the links of their routes, and the answer follows from the question.
TEST(EveryRoute, OtherJobsCountOnTheLinksOfTheirRoutes) {
  int slowed = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const auto fabric = random_tree(random);
    const Routed routed(cut_some(random, fabric->topology_ptr()));
    RoutedJobs jobs(fabric, routed.view, routed.routing.tables);
    auto allocations = no_allocations(fabric->topology());
    Placer placer(fabric);
    placer.set_capacities(fabric->capacities_mbps(routed.view));
    placer.sync(allocations);
    const auto ask = [&](const JobSpec& spec) {
      placer.set_routes(&jobs);
      auto found = placer.place_or_say_why(spec);
      placer.set_routes(nullptr);
      return found;
    };
    // The first GPU of every host, so that it crosses what there is to cross.
    std::vector<GpuId> taken;
    for (const auto host : fabric->topology().hosts()) taken.push_back(*fabric->topology().gpus(host).begin());
    const JobSpec first =
        testing_support::with_random_traffic(random, {.data = static_cast<std::uint32_t>(taken.size())});
    ASSERT_TRUE(take(allocations, fabric->topology(), taken));
    placer.sync(allocations);
    const JobSpec spec = testing_support::with_random_traffic(random, {.data = 6});
    const auto without = ask(spec);
    jobs.add(1, first, taken);
    const auto beside = ask(spec);
    if (beside.outcome != Outcome::placed || !beside.routed || !without.routed) continue;
    const auto at = [&](const PlacementResult& one) {
      return jobs.contention(spec, one.placement.gpu_of_rank)->shared.communication_us;
    };
    EXPECT_DOUBLE_EQ(beside.routed->chosen.communication_us, at(beside)) << "seed " << seed;
    slowed += at(without) > without.routed->chosen.communication_us * 1.001 ? 1 : 0;
    moved += beside.placement.gpu_of_rank != without.placement.gpu_of_rank ? 1 : 0;
    EXPECT_EQ(ask(spec).placement.gpu_of_rank, beside.placement.gpu_of_rank) << "the same question, the same answer";
    jobs.remove(1);
    EXPECT_EQ(ask(spec).placement.gpu_of_rank, without.placement.gpu_of_rank) << "as if the other had never been";
  }
  std::printf("another job slows %d places, and %d jobs are placed elsewhere for it\n", slowed, moved);
  EXPECT_GT(slowed, 0);
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace railweave::scheduler::every_route_test
