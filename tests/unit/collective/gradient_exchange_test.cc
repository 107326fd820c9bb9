// Gradients through parameter servers and in the network: the cost of a placement against listed flows and closed
// forms.
#include <map>

#include <gtest/gtest.h>

#include "scheduler/collective/closed_forms.h"
#include "scheduler/collective/job_flows.h"
#include "scheduler/collective/link_senders.h"
#include "scheduler/collective/routed_traffic.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/collective/routed_fabric.h"

namespace railweave::scheduler::gradient_exchange_test {
namespace {

using fabric::GpuId;
using testing::RoutedFabric;
using testing::tree;

constexpr double kBytes = 1e9;
constexpr double kNicMbps = 400'000;

GpuGeneration ideal(bool nvls = false) {
  return {.name = "ideal",
          .nvlink_mbps = 3'600'000,
          .nvls = nvls,
          .constants = {.nvls_efficiency = 1, .ring_efficiency = 1, .network_efficiency = 1}};
}

TrafficSpec gradients(GradientExchange exchange, std::uint32_t servers = 1) {
  return {.data = {.bytes = kBytes, .calls = 1, .exchange = exchange, .servers = servers}};
}

// One GPU of each host, on hosts of one leaf: nothing but adapters.
std::vector<GpuId> one_leaf(std::size_t hosts) {
  std::vector<GpuId> gpus;
  for (std::size_t h = 0; h < hosts; ++h) gpus.emplace_back(4 * h);
  return gpus;
}

TEST(GradientExchange, ParameterServersTakeWhatTheClosedFormSays) {
  PlacementCostModel model(tree().bundles, ideal());
  for (const std::uint32_t n : {2U, 3U, 4U}) {
    for (std::uint32_t servers = 1; servers <= n; ++servers) {
      const auto cost = model.predict(one_leaf(n), {.data = n}, gradients(GradientExchange::parameter_servers, servers),
                                      tree().bundle_capacity);
      const double expected = closed_form::parameter_server_us(n, servers, kBytes, {kNicMbps, 0});
      EXPECT_NEAR(cost.of(CommGroup::data).transfer_us, expected, 1e-9 * expected) << n << " of them " << servers;
    }
  }
}

// Every bundle and every flow against S/B: no vector of S bytes is reduced faster than one adapter receives it.
TEST(GradientExchange, ReductionInTheNetworkTakesWhatTheWireDoes) {
  const auto shape = [](bool aggregation_nodes) {
    return fabric::testing::FatTreeShape{.hosts_per_leaf = 8,
                                         .leaves_per_pod = 2,
                                         .spines_per_pod = 8,
                                         .pods = 1,
                                         .cores_per_spine = 0,
                                         .gpus_per_host = 1,
                                         .aggregation_nodes = aggregation_nodes};
  };
  const RoutedFabric with(fabric::testing::make_fat_tree(shape(true)));
  const RoutedFabric without(fabric::testing::make_fat_tree(shape(false)));
  PlacementCostModel model(with.bundles, ideal()), plain(without.bundles, ideal());
  for (std::uint32_t n = 2; n <= 8; ++n) {
    const Parallelism p{.data = n};
    const auto gpus = with.gpus(n);
    const auto traffic = gradients(GradientExchange::in_network);
    const double expected = closed_form::in_network_all_reduce_us(kBytes, 1, {kNicMbps, 0});
    EXPECT_NEAR(expected, kBytes * 8 / kNicMbps, 1e-9 * expected);
    const auto cost = model.predict(gpus, p, traffic, with.bundle_capacity);
    EXPECT_NEAR(cost.of(CommGroup::data).transfer_us, expected, 1e-9 * expected) << n;
    const auto flows = job_flows(with.bundles, gpus, p, traffic, CommGroup::data, false);
    const auto routed = routed_transfer_us(with.routed(), gpus, flows, ideal());
    ASSERT_TRUE(routed);
    EXPECT_NEAR(*routed, expected, 1e-9 * expected) << n;
    // Switches that cannot reduce pass on what rings send.
    const auto rings = plain.predict(gpus, p, gradients(GradientExchange::rings), without.bundle_capacity);
    const auto asked = plain.predict(gpus, p, traffic, without.bundle_capacity);
    EXPECT_DOUBLE_EQ(asked.of(CommGroup::data).transfer_us, rings.of(CommGroup::data).transfer_us) << n;
  }
}

TEST(GradientExchange, LoadsOfBundlesAreThoseOfListedFlows) {
  PlacementCostModel model(tree().bundles, ideal());
  const BundledPaths paths = tree().bundled();
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const Parallelism p{.tensor = 1U << (random() % 3), .data = static_cast<std::uint32_t>(2 + random() % 20)};
    const auto gpus = seed % 2 == 0 ? tree().gpus(rank_count(p)) : tree().shuffled(rank_count(p), seed);
    const auto servers = static_cast<std::uint32_t>(1 + random() % 6);
    const auto traffic = gradients(GradientExchange::parameter_servers, servers);
    LinkTraffic loads;
    const auto cost = model.predict(gpus, p, traffic, tree().bundle_capacity, {}, &loads);
    std::array<std::map<std::uint32_t, double>, 2> listed;
    bool back = false;
    for (const RankFlow& flow : job_flows(tree().bundles, gpus, p, traffic, CommGroup::data, false)) {
      std::vector<std::uint32_t> links;
      PathShape shape;
      ASSERT_TRUE(paths.append(gpus[flow.from], gpus[flow.to], links, shape));
      for (const auto link : links) listed[back ? 1 : 0][link] += flow.bytes;
      back = !back;
    }
    const GroupLoad& own = loads.groups[static_cast<std::size_t>(CommGroup::data)];
    ASSERT_EQ(own.phases.size(), 2U);
    for (std::size_t phase = 0; phase < 2; ++phase) {
      std::map<std::uint32_t, double> given;
      for (const LinkBytes& on : own.phases[phase]) given[on.link] += on.bytes;
      ASSERT_EQ(given.size(), listed[phase].size()) << "seed " << seed;
      for (const auto& [link, bytes] : listed[phase]) EXPECT_NEAR(given[link], bytes, 1e-9 * bytes) << "seed " << seed;
    }
    const double us = phases_time(own, tree().bundle_capacity, nullptr).us;
    EXPECT_NEAR(cost.of(CommGroup::data).transfer_us, us, 1e-9 * us) << "seed " << seed;
  }
}

// Over real routes: what is walked is what is listed, and never less than bundles say.
TEST(GradientExchange, RoutedTrafficTakesAtLeastWhatBundlesSay) {
  PlacementCostModel model(tree().bundles, ideal());
  const Parallelism p{.tensor = 4, .data = 8, .pipeline = 2};
  for (const auto exchange :
       {GradientExchange::rings, GradientExchange::parameter_servers, GradientExchange::in_network}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      std::vector<std::uint32_t> hosts(64);
      for (std::uint32_t h = 0; h < 64; ++h) hosts[h] = h;
      std::mt19937_64 random(seed);
      std::ranges::shuffle(hosts, random);
      std::vector<GpuId> gpus;
      for (std::size_t h = 0; h < 16; ++h) {
        for (std::uint32_t g = 0; g < 4; ++g) gpus.emplace_back(4 * hosts[h] + g);
      }
      TrafficSpec traffic = gradients(exchange, exchange == GradientExchange::parameter_servers ? 3 : 1);
      traffic.tensor = {2e9, 1};
      traffic.pipeline = {1e8, 1};
      LinkTraffic bundled;
      const auto cost = model.predict(gpus, p, traffic, tree().bundle_capacity, {}, &bundled);
      const LinkTraffic routed =
          routed_traffic({*tree().topology, tree().walker, tree().ports, tree().bundles, tree().bundle_capacity}, gpus,
                         p, traffic, ideal(), bundled);
      for (std::size_t g = 0; g < kCommGroups; ++g) {
        const double us = phases_time(routed.groups[g], tree().capacity, nullptr).us;
        EXPECT_GE(us, cost.groups[g].transfer_us * (1 - 1e-9)) << g << ", seed " << seed;
      }
      const auto tensor = static_cast<std::size_t>(CommGroup::tensor);
      EXPECT_NEAR(phases_time(routed.groups[tensor], tree().capacity, nullptr).us, cost.groups[tensor].transfer_us,
                  1e-9 * cost.groups[tensor].transfer_us)
          << "NVLink is its own";
      EXPECT_GT(routed.groups[static_cast<std::size_t>(CommGroup::data)].path_us, 0);
      EXPECT_LE(phases_time(routed.groups[5], tree().capacity, nullptr).us, 20 * cost.groups[5].transfer_us);
    }
  }
}

}  // namespace
}  // namespace railweave::scheduler::gradient_exchange_test
