// Against sums over every single flow, listed naively and looked up path by path, with all efficiencies at 1.
#include "scheduler/collective/placement_cost.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "scheduler/collective/phase_times.h"
#include "tests/unit/collective/routed_fabric.h"

namespace railweave::scheduler::placement_cost_test {
namespace {

using fabric::GpuId;
using testing::RoutedFabric;
using testing::tree;

constexpr double kBytes = 1e9;

GpuGeneration ideal(bool nvls = false) {
  return {.name = "ideal",
          .nvlink_mbps = 3'600'000,
          .nvls = nvls,
          .constants = {.nvls_efficiency = 1, .ring_efficiency = 1, .network_efficiency = 1}};
}

// 64 hosts of 8 GPUs in 8 rail units of 8 and 4 pods, three tiers.
const RoutedFabric& rails() {
  static const RoutedFabric fabric("rail-optimized", {{"hosts", "64"},
                                                      {"hosts-per-unit", "8"},
                                                      {"radix", "32"},
                                                      {"down-ports", "8"},
                                                      {"uplinks", "8"},
                                                      {"tiers", "3"},
                                                      {"leaves-per-pod", "16"}});
  return fabric;
}
struct Flow {
  GpuId from, to;
  double bytes;
};

// Rates at random, a kind of bundle narrower than the others by turns, so that each bundle is once the fullest. Seed 0:
// as built.
std::vector<double> uneven_capacity(const RoutedFabric& fabric, std::uint64_t seed) {
  std::vector<double> capacity = fabric.bundle_capacity;
  if (seed == 0) return capacity;
  std::mt19937_64 random(seed);
  for (std::uint32_t b = 0; b < capacity.size(); ++b) {
    if (static_cast<std::uint64_t>(fabric.bundles.kind(b)) == seed % 4) capacity[b] /= 50;
    capacity[b] *= 1 + static_cast<double>(random() % 100);
  }
  return capacity;
}

double slowest_us(const RoutedFabric& fabric, const std::vector<double>& capacity, const std::vector<Flow>& flows) {
  const BundledPaths paths = fabric.bundled();
  std::map<std::uint32_t, double> load;
  for (const Flow& flow : flows) {
    std::vector<std::uint32_t> links;
    PathShape shape;
    EXPECT_TRUE(paths.append(flow.from, flow.to, links, shape));
    for (const auto link : links) load[link] += flow.bytes;
  }
  double most = 0;
  for (const auto& [link, bytes] : load) most = std::max(most, bytes * 8 / capacity[link]);
  return most;
}

TEST(FabricBundles, HoldEveryUplinkOnce) {
  for (const RoutedFabric* fabric : {&rails(), &tree()}) {
    const fabric::Topology& t = *fabric->topology;
    std::map<FabricBundles::Kind, std::multiset<fabric::DirectedLink>> links;
    for (std::uint32_t b = 0; b < fabric->bundles.bundle_count(); ++b) {
      const auto own = fabric->bundles.links(b);
      links[fabric->bundles.kind(b)].insert(own.begin(), own.end());
    }
    std::size_t of_leaves = 0;
    for (const auto link : t.links()) {
      if (!t.joins_switches(link)) continue;
      if (t.tier(t.switch_of(t.a(link))) != 0 && t.tier(t.switch_of(t.b(link))) != 0) continue;
      ++of_leaves;
      EXPECT_EQ(links[FabricBundles::Kind::leaf].count(static_cast<std::uint32_t>(link.index() * 2)), 1U);
      EXPECT_EQ(links[FabricBundles::Kind::leaf].count(static_cast<std::uint32_t>(link.index() * 2 + 1)), 1U);
    }
    EXPECT_EQ(links[FabricBundles::Kind::leaf].size(), 2 * of_leaves);
    std::size_t above = 0;
    for (const auto link : t.links()) above += t.joins_switches(link) ? 1 : 0;
    EXPECT_EQ(links[FabricBundles::Kind::pod].size(), 2 * (above - of_leaves));  // tier 1 to tier 2
    EXPECT_EQ(links[FabricBundles::Kind::adapter].size(), 2 * t.gpus().size());
    EXPECT_EQ(links[FabricBundles::Kind::nvlink].size(), 2 * t.gpus().size());
  }
}

TEST(PlacementCost, OfRingsIsThatOfTheirFlows) {
  for (const RoutedFabric* fabric : {&rails(), &tree()}) {
    PlacementCostModel model(fabric->bundles, ideal());
    const auto hosts = static_cast<std::uint32_t>(fabric->topology->hosts().size());
    const auto per_host = static_cast<std::uint32_t>(fabric->topology->gpus().size() / hosts);
    // TP = the GPUs of a host; data rings of one member per host, hosts in random order.
    const Parallelism p{.tensor = per_host, .data = hosts / 2, .pipeline = 2};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const auto capacity = uneven_capacity(*fabric, seed);
      std::vector<std::uint32_t> order(hosts);
      for (std::uint32_t h = 0; h < hosts; ++h) order[h] = h;
      std::mt19937_64 random(seed);
      if (seed > 0) std::ranges::shuffle(order, random);
      std::vector<GpuId> gpus;
      for (const std::uint32_t h : order) {
        for (std::uint32_t g = 0; g < per_host; ++g) gpus.emplace_back(h * per_host + g);
      }
      const TrafficSpec traffic{.tensor = {kBytes, 1}, .data = {kBytes, 1}, .pipeline = {kBytes, 1}};
      const PlacementCost cost = model.predict(gpus, p, traffic, capacity);
      std::vector<Flow> tensor, data, pipeline;
      const double ring = 2.0 * (p.data - 1) / p.data * kBytes, inside = 2.0 * (per_host - 1) / per_host * kBytes;
      for (std::uint64_t r = 0; r < gpus.size(); ++r) {
        RankCoordinates at = coordinates_of(p, r);
        RankCoordinates next = at;
        next.dp = (at.dp + 1) % p.data;
        data.push_back({gpus[r], gpus[rank_of(p, next)], ring});
        next = at;
        next.tp = (at.tp + 1) % p.tensor;
        tensor.push_back({gpus[r], gpus[rank_of(p, next)], inside});
        next = at;
        next.pp = at.pp + 1;
        if (next.pp < p.pipeline) pipeline.push_back({gpus[r], gpus[rank_of(p, next)], kBytes});
      }
      const auto close = [](double us) { return 1e-9 * us; };
      const double d = slowest_us(*fabric, capacity, data), t = slowest_us(*fabric, capacity, tensor),
                   s = slowest_us(*fabric, capacity, pipeline);
      EXPECT_NEAR(cost.of(CommGroup::data).transfer_us, d, close(d)) << "seed " << seed;
      EXPECT_NEAR(cost.of(CommGroup::tensor).transfer_us, t, close(t));
      EXPECT_NEAR(cost.of(CommGroup::pipeline).transfer_us, 2 * s, close(s));
      EXPECT_EQ(cost.of(CommGroup::data).domains, p.data);
      EXPECT_EQ(cost.of(CommGroup::tensor).domains, 1U);
      EXPECT_EQ(cost.of(CommGroup::tensor).bundle_kind, FabricBundles::Kind::nvlink);
    }
  }
}

// Where all adapters of a host share a leaf, the flows of an all-to-all go straight: one by one they give the same.
TEST(PlacementCost, OfAllToAllIsThatOfItsFlows) {
  PlacementCostModel model(tree().bundles, ideal());
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto capacity = uneven_capacity(tree(), seed);
    const Parallelism p{.tensor = 1U << (seed % 3), .expert = 16, .data = 2};
    const auto gpus = seed < 3 ? tree().gpus(rank_count(p)) : tree().shuffled(rank_count(p), seed);
    const PlacementCost cost = model.predict(gpus, p, {.expert = {kBytes, 1}}, capacity);
    std::vector<Flow> flows;
    for (std::uint64_t r = 0; r < gpus.size(); ++r) {
      RankCoordinates to = coordinates_of(p, r);
      for (to.ep = 0; to.ep < p.expert; ++to.ep) flows.push_back({gpus[r], gpus[rank_of(p, to)], kBytes / p.expert});
    }
    const double expected = slowest_us(tree(), capacity, flows);
    EXPECT_NEAR(cost.of(CommGroup::expert).transfer_us, expected, 1e-9 * expected) << "seed " << seed;
  }
}

// A plain job: all GPUs of each host in one data group. Its all-reduce is a ring per rail, each with its part of the
// vector, and the reduction inside hosts beside it.
TEST(PlacementCost, OfAPlainJobUsesEveryRail) {
  PlacementCostModel model(rails().bundles, ideal());
  const Parallelism p{.data = 64};  // 8 hosts of one unit
  const auto cost = model.predict(rails().gpus(64), p, {.data = {kBytes, 1}}, rails().bundle_capacity);
  const double network = 2.0 * 63 / 64 * kBytes / 8 * 8 / 400'000, nvlink = 2.0 * 7 / 8 * kBytes * 8 / 3'600'000;
  EXPECT_NEAR(cost.of(CommGroup::data).transfer_us, std::max(network, nvlink), 1e-6 * network);
  EXPECT_EQ(cost.of(CommGroup::data).bundle_kind, FabricBundles::Kind::adapter);
  // The order of a host's ranks does not matter: rings follow rails.
  std::vector<GpuId> turned = rails().gpus(64);
  std::mt19937_64 random(3);
  for (std::size_t host = 0; host < 8; ++host) std::shuffle(&turned[host * 8], &turned[host * 8] + 8, random);
  const auto other = model.predict(turned, p, {.data = {kBytes, 1}}, rails().bundle_capacity);
  EXPECT_DOUBLE_EQ(other.total_us, cost.total_us);
}

TEST(PlacementCost, AgreesWithRoutesWhereRoutingSpreadsEvenly) {
  // Rings on rails inside one unit: no route leaves its leaf, so bundles and routes see the same.
  PlacementCostModel model(rails().bundles, ideal());
  const Parallelism p{.tensor = 8, .data = 8};
  const auto gpus = rails().gpus(64);
  const auto cost = model.predict(gpus, p, {.data = {kBytes, 1}}, rails().bundle_capacity);
  const auto plan = plan_phases({.ranks = 8, .bytes = kBytes});
  std::vector<GpuId> ring;
  for (std::size_t host = 0; host < 8; ++host) ring.push_back(gpus[host * 8 + 3]);
  const auto routed = collective_time(*plan, rails().routed(), ring, {.latency_off = true});
  EXPECT_NEAR(cost.of(CommGroup::data).transfer_us, routed->total_us, 1e-9 * routed->total_us);
}

TEST(PlacementCost, NeverFallsWithLessBandwidthNorRisesWithMore) {
  PlacementCostModel model(tree().bundles, *find_generation("H100"));
  const Parallelism p{.tensor = 2, .context = 2, .expert = 4, .data = 4, .pipeline = 2};
  TrafficSpec traffic{{1e9, 40}, {1e8, 10}, {1e9, 20}, {1e10, 30}, {1e9, 4}, {1e8, 16}, {1e10, 1}, {}};
  traffic.peers = {{{.job = 2, .role = "other", .bytes = 1e10}, {}}};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto gpus = tree().shuffled(rank_count(p) + 16, seed);
    traffic.peers.front().gpu_of_rank.assign(gpus.end() - 16, gpus.end());
    gpus.resize(rank_count(p));
    std::mt19937_64 random(seed);
    std::vector<double> capacity = tree().bundle_capacity;
    const auto before = model.predict(gpus, p, traffic, capacity);
    for (auto& c : capacity) c *= random() % 3 == 0 ? 1.5 : 1;
    const auto more = model.predict(gpus, p, traffic, capacity);
    for (auto& c : capacity) c *= random() % 3 == 0 ? 0.4 : 1 / 1.5;
    const auto less = model.predict(gpus, p, traffic, capacity);
    for (std::size_t g = 0; g < kCommGroups; ++g) {
      EXPECT_GT(before.groups[g].time_us, 0);
      EXPECT_LE(more.groups[g].time_us, before.groups[g].time_us);
      EXPECT_GE(less.groups[g].time_us, before.groups[g].time_us);
    }
  }
}

TEST(PlacementCost, OfHostsInLeafOrderIsNoMoreThanShuffled) {
  PlacementCostModel model(tree().bundles, *find_generation("H100"));
  const Parallelism p{.data = 256};
  const TrafficSpec traffic{.data = {kBytes, 1}};
  const double straight = model.predict(tree().gpus(256), p, traffic, tree().bundle_capacity).total_us;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto shuffled = model.predict(tree().shuffled(256, seed), p, traffic, tree().bundle_capacity);
    EXPECT_GE(shuffled.total_us, straight * (1 - 1e-12));
  }
}

TEST(PlacementCost, KnowsWhatCannotBeReached) {
  PlacementCostModel model(tree().bundles, ideal());
  std::vector<double> capacity = tree().bundle_capacity;
  for (std::uint32_t b = 0; b < capacity.size(); ++b) {
    if (tree().bundles.kind(b) == FabricBundles::Kind::leaf) capacity[b] = 0;
  }
  const TrafficSpec traffic{.data = {kBytes, 1}};
  EXPECT_TRUE(model.predict(tree().gpus(16), {.data = 16}, traffic, capacity).of(CommGroup::data).reachable);
  EXPECT_FALSE(model.predict(tree().gpus(32), {.data = 32}, traffic, capacity).of(CommGroup::data).reachable);
  // Nothing of it stays for the next call.
  EXPECT_TRUE(model.predict(tree().gpus(16), {.data = 16}, traffic, capacity).of(CommGroup::data).reachable);
}

TEST(PlacementCost, FromScratchIsTheSameAndUsesResidualCapacities) {
  const Parallelism p{.tensor = 4, .data = 16};
  const TrafficSpec traffic{.tensor = {kBytes, 10}, .data = {kBytes, 1}};
  const GpuGeneration& h100 = *find_generation("H100");
  const auto gpus = tree().shuffled(64, 9);
  PlacementCostModel model(tree().bundles, h100);
  const double expected = model.predict(gpus, p, traffic, tree().bundle_capacity).total_us;
  const auto cost = [&](std::span<const double> residual) {
    return placement_cost(tree().view, tree().locality, tree().ports, h100, gpus, p, traffic, residual).total_us;
  };
  EXPECT_EQ(cost({}), expected);
  EXPECT_EQ(cost(tree().capacity), expected);
  std::vector<double> half = tree().capacity;
  for (double& mbps : half) mbps /= 2;
  EXPECT_GT(cost(half), 1.5 * expected);
}

TEST(PlacementCost, IsNothingWithoutTraffic) {
  PlacementCostModel model(tree().bundles, ideal());
  EXPECT_EQ(model.predict(tree().gpus(1), {}, {.data = {kBytes, 1}}, tree().bundle_capacity).total_us, 0);
  EXPECT_EQ(model.predict(tree().gpus(8), {.data = 8}, {}, tree().bundle_capacity).total_us, 0);
}

}  // namespace
}  // namespace railweave::scheduler::placement_cost_test
