#include "scheduler/collective/phase_times.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/collective/closed_forms.h"
#include "tests/unit/collective/routed_fabric.h"
#include "tests/unit/flow/naive_water_filling.h"

namespace railweave::scheduler::phase_times_test {
namespace {

using testing::RoutedFabric;
using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;
namespace cf = closed_form;

// One switch: non-blocking. A GPU and an adapter of 400 Gb/s per host, no NVLink.
const RoutedFabric& star() {
  static const RoutedFabric fabric("fat-tree", {{"hosts", "32"},
                                                {"tiers", "1"},
                                                {"radix", "64"},
                                                {"gpus-per-host", "1"},
                                                {"nics-per-host", "1"},
                                                {"nvlink-domain", "1"}});
  return fabric;
}
// 16 hosts of 8 GPUs, one leaf per rail and unit of 8 hosts, all in all non-blocking.
const RoutedFabric& rails() {
  static const RoutedFabric fabric("rail-optimized", {{"hosts", "16"}, {"hosts-per-unit", "8"}, {"radix", "32"}});
  return fabric;
}
// 8 leaves of 8 hosts, two tiers, 4:1 oversubscribed.
const RoutedFabric& narrow() {
  static const RoutedFabric fabric("fat-tree", {{"hosts", "64"},
                                                {"radix", "32"},
                                                {"hosts-per-leaf", "8"},
                                                {"down-ports", "8"},
                                                {"uplinks", "2"},
                                                {"gpus-per-host", "1"},
                                                {"nics-per-host", "1"},
                                                {"nvlink-domain", "1"}});
  return fabric;
}

double time_of(const RoutedFabric& fabric, const CollectiveRequest& request, std::span<const fabric::GpuId> gpus,
               const PhaseOptions& options = {}) {
  const auto plan = plan_phases(request);
  EXPECT_TRUE(plan);
  const RoutedPaths paths = fabric.routed();
  const auto time = collective_time(*plan, paths, gpus, options);
  EXPECT_TRUE(time) << time.error().text();
  return time->total_us;
}

// A switch and two cables of unknown length, at NCCL's 14 us for a step of Simple.
constexpr cf::Link kPort{.rate_mbps = 400'000, .alpha_us = 14 + 0.25 + 10 * 0.005};
constexpr cf::Link kToSwitch{.rate_mbps = 400'000, .alpha_us = 14 + 0.25 + 5 * 0.005};

TEST(PhaseTimes, AreTheClosedFormsOnOneSwitch) {
  for (const std::uint32_t n : {2U, 4U, 8U, 16U, 32U}) {
    const auto gpus = star().gpus(n);
    for (const double bytes : {1.0, 4096.0, 1e6, 1e9}) {
      const auto time = [&](Kind kind, Algorithm algorithm, std::uint32_t servers = 1) {
        return time_of(star(), {.kind = kind, .algorithm = algorithm, .ranks = n, .bytes = bytes, .servers = servers},
                       gpus);
      };
      const double close = 1e-9 * (1 + bytes);
      EXPECT_NEAR(time(Kind::all_reduce, Algorithm::ring), cf::ring_all_reduce_us(n, bytes, kPort), close);
      EXPECT_NEAR(time(Kind::all_gather, Algorithm::ring), cf::ring_all_gather_us(n, bytes, kPort), close);
      EXPECT_NEAR(time(Kind::reduce_scatter, Algorithm::ring), cf::ring_all_gather_us(n, bytes, kPort), close);
      EXPECT_NEAR(time(Kind::all_reduce, Algorithm::halving_doubling),
                  cf::halving_doubling_all_reduce_us(n, bytes, kPort), close);
      EXPECT_NEAR(time(Kind::all_to_all, Algorithm::direct), cf::direct_all_to_all_us(n, bytes, kPort), close);
      EXPECT_NEAR(time(Kind::all_reduce, Algorithm::in_network), cf::in_network_all_reduce_us(bytes, 1, kToSwitch),
                  close);
      EXPECT_NEAR(time(Kind::point_to_point, Algorithm::direct), cf::point_to_point_us(bytes, kPort), close);
      EXPECT_NEAR(time(Kind::all_reduce, Algorithm::parameter_server), cf::parameter_server_us(n, 1, bytes, kPort),
                  close);
      // A rank that is an inner node of one tree and a leaf of the other takes the vector twice; with fewer than four
      // ranks, and at the rim, less.
      const double tree = time(Kind::all_reduce, Algorithm::tree), bound = cf::tree_all_reduce_us(n, bytes, kPort);
      EXPECT_LE(tree, bound + close);
      if (n >= 8) {
        EXPECT_NEAR(tree, bound, close);
      }
    }
  }
}

TEST(ClosedForms, AreTheirFormulas) {
  const cf::Link link{.rate_mbps = 8, .alpha_us = 10};  // a byte per microsecond
  EXPECT_DOUBLE_EQ(cf::ring_all_reduce_us(4, 1000, link), 1500 + 60);
  EXPECT_DOUBLE_EQ(cf::ring_all_gather_us(4, 1000, link), 750 + 30);
  EXPECT_DOUBLE_EQ(cf::halving_doubling_all_reduce_us(8, 1000, link), 1750 + 60);
  EXPECT_DOUBLE_EQ(cf::tree_all_reduce_us(8, 1000, link), 2000 + 60);
  EXPECT_DOUBLE_EQ(cf::direct_all_to_all_us(5, 1000, link), 800 + 10);
  EXPECT_DOUBLE_EQ(cf::in_network_all_reduce_us(1000, 2, link), 1000 + 40);
  EXPECT_DOUBLE_EQ(cf::hierarchical_all_reduce_us(4, 2, 1000, {.rate_mbps = 80, .alpha_us = 1}, link),
                   150 + 6 + 250 + 20);
  EXPECT_DOUBLE_EQ(cf::parameter_server_us(5, 2, 1000, link), 2 * (2000 + 10));
  EXPECT_EQ(cf::ring_all_reduce_us(1, 1000, link), 0);
}

TEST(PhaseTimes, OfTheHierarchyAreTheClosedFormOnRails) {
  std::vector<std::uint32_t> domain;
  for (const auto gpu : rails().gpus(128)) domain.push_back(rails().topology->nvlink_domain(gpu).value());
  const auto gpus = rails().gpus(64);  // of one unit: every ring stays on its leaf
  const double nvlink_mbps = static_cast<double>(rails().topology->rate_per_gpu(fabric::NvlinkDomainId(0)).value());
  for (const double bytes : {1e5, 1e9}) {
    const double time = time_of(rails(),
                                {.algorithm = Algorithm::hierarchical,
                                 .ranks = 64,
                                 .bytes = bytes,
                                 .domain_of_rank = std::span(domain).first(64)},
                                gpus);
    const double expected =
        cf::hierarchical_all_reduce_us(8, 8, bytes, {.rate_mbps = nvlink_mbps, .alpha_us = 3.4}, kPort);
    EXPECT_NEAR(time, expected, 1e-9 * expected);
  }
}

TEST(PhaseTimes, DoNotDependOnRanksWhereTheFabricIsSymmetric) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::halving_doubling, Algorithm::direct}) {
    const CollectiveRequest request{.algorithm = algorithm, .ranks = 32, .bytes = 1e8};
    const double straight = time_of(star(), request, star().gpus(32));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_NEAR(time_of(star(), request, star().shuffled(32, seed)), straight, 1e-9 * straight);
    }
  }
}

TEST(PhaseTimes, ARingAlongTheLeavesIsNoSlowerThanAShuffledOne) {
  const CollectiveRequest request{.ranks = 64, .bytes = 1e8};
  const double straight = time_of(narrow(), request, narrow().gpus(64), {.latency_off = true});
  unsigned slower = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const double shuffled = time_of(narrow(), request, narrow().shuffled(64, seed), {.latency_off = true});
    EXPECT_GE(shuffled, straight * (1 - 1e-12));
    slower += shuffled > straight * 1.01 ? 1 : 0;
  }
  EXPECT_EQ(slower, 50U);
}

TEST(PhaseTimes, AreNeverLongerWithMoreBandwidth) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::halving_doubling, Algorithm::direct, Algorithm::tree}) {
    const auto plan = plan_phases({.algorithm = algorithm, .ranks = 64, .bytes = 1e8});
    ASSERT_TRUE(plan);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto gpus = narrow().shuffled(64, seed);
      std::vector<double> capacity = narrow().capacity;
      const RoutedPaths before(*narrow().topology, narrow().walker, narrow().ports, narrow().capacity);
      const double time = collective_time(*plan, before, gpus)->total_us;
      std::mt19937_64 random(seed);
      for (int i = 0; i < 30; ++i) capacity[random() % capacity.size()] *= 1.5;
      const RoutedPaths after(*narrow().topology, narrow().walker, narrow().ports, capacity);
      EXPECT_LE(collective_time(*plan, after, gpus)->total_us, time * (1 + 1e-12));
    }
  }
}

TEST(PhaseTimes, OthersOnTheSameLinksSlowOneDown) {
  const auto gpus = star().gpus(8);
  const auto plan = plan_phases({.ranks = 8, .bytes = 1e9});
  const RoutedPaths paths = star().routed();
  const double alone = collective_time(*plan, paths, gpus, {.latency_off = true})->total_us;
  BackgroundFlows background;
  PathShape shape;
  // Three greedy flows share the first link of rank 0 with it: a quarter is left.
  ASSERT_TRUE(paths.append(fabric::GpuId(0), fabric::GpuId(20), background.links, shape));
  background.first.push_back(static_cast<std::uint32_t>(background.links.size()));
  background.members = {3};
  const double beside = collective_time(*plan, paths, gpus, {.background = &background, .latency_off = true})->total_us;
  EXPECT_NEAR(beside, 4 * alone, 1e-6 * alone);
  // At 10 Gb/s each they leave 370.
  background.cap_mbps = {10'000};
  const auto capped = collective_time(*plan, paths, gpus, {.background = &background, .latency_off = true});
  EXPECT_NEAR(capped->total_us, alone * 400 / 370, 1e-6 * alone);
  EXPECT_EQ(capped->phases[0].bottleneck, background.links[0]);
}

TEST(PhaseTimes, NameRanksWithoutARoute) {
  const RoutedPaths paths = star().routed();
  std::vector<double> cut = star().capacity;
  std::ranges::fill(cut, 0);
  const RoutedPaths dead(*star().topology, star().walker, star().ports, cut);
  const auto plan = plan_phases({.ranks = 2, .bytes = 1});
  EXPECT_EQ(collective_time(*plan, dead, star().gpus(2)).error().code, "collectives.noPath");
  EXPECT_TRUE(collective_time(*plan, paths, star().gpus(2)));
}

TEST(PhaseTimes, OfAllToAllAreThoseOfTheFullestUplinks) {
  const auto plan = plan_phases({.algorithm = Algorithm::direct, .ranks = 64, .bytes = 1e8});
  const BundledPaths paths = narrow().bundled();
  const auto time = collective_time(*plan, paths, narrow().gpus(64), {.latency_off = true});
  EXPECT_EQ(time->phases[0].flows, 64U * 63);
  // Uplinks of a leaf: 8 x 56 flows of 1e8/64 bytes over 2 x 400 Gb/s; the phase runs twice.
  EXPECT_NEAR(time->total_us, 2 * transfer_us(8 * 56 * 1e8 / 64, 800'000), 1e-6 * time->total_us);
}

// Each flow in a class of its own has what weighted water filling gives it: the oracle shares no code with either solver.
TEST(PhaseTimes, ClassesShareLinksByTheirWeights) {
  const RoutedPaths paths = narrow().routed();
  unsigned by_weight = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto gpus = narrow().shuffled(8, seed);
    constexpr double kBytes = 1e6;
    const PhasePlan plan{.phases = {{.flows = {{0, 1, kBytes}}}}, .ranks = 2};
    BackgroundFlows others;
    const std::size_t count = 1 + random() % 7;
    others.own_class = static_cast<std::uint8_t>(random() % (count + 1));
    for (std::size_t c = 0; c <= count; ++c) others.class_weight.push_back(static_cast<double>(1 + random() % 8));
    std::vector<std::uint32_t> own;
    PathShape shape;
    ASSERT_TRUE(paths.append(gpus[0], gpus[1], own, shape));
    std::vector<double> weight, cap;
    for (std::size_t c = 0; c <= count; ++c) {
      if (c == others.own_class) continue;
      // Most leave the rank's own host.
      const std::size_t from = random() % 4 == 0 ? 2 : 0, to = 1 + random() % 7;
      if (from == to) continue;
      ASSERT_TRUE(paths.append(gpus[from], gpus[to], others.links, shape));
      others.first.push_back(static_cast<std::uint32_t>(others.links.size()));
      others.cap_mbps.push_back(random() % 2 == 0 ? 1e9 : static_cast<double>(1 + random() % 300'000));
      others.class_of.push_back(static_cast<std::uint8_t>(c));
      weight.push_back(others.class_weight[c]);
      cap.push_back(others.cap_mbps.back());
    }
    std::vector<std::uint32_t> first = others.first, links = others.links;
    links.insert(links.end(), own.begin(), own.end());
    first.push_back(static_cast<std::uint32_t>(links.size()));
    weight.push_back(others.class_weight[others.own_class]);
    cap.push_back(1e9);
    const fabric::FlowProblem problem{
        .capacity = paths.capacity_mbps(), .first = first, .links = links, .weight = weight, .cap = cap};
    const double rate = fabric::testing::naive_water_filling(problem).back();
    const auto time = collective_time(plan, paths, gpus, {.background = &others, .latency_off = true});
    ASSERT_TRUE(time) << time.error().text();
    EXPECT_NEAR(time->transfer_us, kBytes * 8 / rate, 1e-4 * time->transfer_us) << "seed " << seed;
    others.class_weight.clear();
    const auto equal = collective_time(plan, paths, gpus, {.background = &others, .latency_off = true});
    by_weight += std::abs(equal->transfer_us - time->transfer_us) > 0.01 * time->transfer_us ? 1 : 0;
  }
  EXPECT_GT(by_weight, 50U) << "else the weights hardly matter";
}

}  // namespace
}  // namespace railweave::scheduler::phase_times_test
