// Listed flows against what placement_cost.h adds up without listing them: two computations of one sum, with no code in
// common.
#include "scheduler/collective/job_flows.h"

#include <map>

#include <gtest/gtest.h>

#include "tests/unit/collective/routed_fabric.h"

namespace railweave::scheduler::job_flows_test {
namespace {

using fabric::GpuId;
using testing::tree;

GpuGeneration ideal() {
  return {.name = "ideal",
          .nvlink_mbps = 3'600'000,
          .constants = {.nvls_efficiency = 1, .ring_efficiency = 1, .network_efficiency = 1}};
}

const TrafficSpec kTraffic{{2e10, 1}, {1e10, 1}, {2e9, 1}, {1e9, 1}, {3e9, 1}, {1e9, 1}};

TEST(JobFlows, LoadBundlesAsPlacementCostSays) {
  PlacementCostModel model(tree().bundles, ideal());
  const BundledPaths paths = tree().bundled();
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const std::array<std::uint32_t, 4> sizes{1, 2, 3, 4};
    const auto draw = [&] { return sizes[random() % sizes.size()]; };
    const Parallelism p{
        .tensor = draw(), .context = draw(), .expert = draw(), .data = draw(), .pipeline = 1 + draw() % 2};
    if (rank_count(p) > 256) continue;
    // Scattered GPU by GPU: domains with unequal parts of a group.
    const auto gpus = seed % 2 == 0 ? tree().gpus(rank_count(p)) : tree().shuffled(rank_count(p), seed);
    const PlacementCost cost = model.predict(gpus, p, kTraffic, tree().bundle_capacity);
    for (std::size_t g = 0; g < kCommGroups; ++g) {
      const auto group = static_cast<CommGroup>(g);
      std::map<std::uint32_t, double> load;
      for (const RankFlow& flow : job_flows(tree().bundles, gpus, p, kTraffic, group, false)) {
        std::vector<std::uint32_t> links;
        PathShape shape;
        ASSERT_TRUE(paths.append(gpus[flow.from], gpus[flow.to], links, shape));
        for (const auto link : links) load[link] += flow.bytes;
      }
      double slowest = 0;
      for (const auto& [link, bytes] : load) slowest = std::max(slowest, bytes * 8 / tree().bundle_capacity[link]);
      if (group == CommGroup::pipeline) {
        // Forth and back one after the other there, at once here: between half of it and all of it.
        EXPECT_LE(slowest, cost.of(group).transfer_us * (1 + 1e-9)) << "seed " << seed;
        EXPECT_GE(slowest, cost.of(group).transfer_us / 2 * (1 - 1e-9)) << "seed " << seed;
      } else {
        EXPECT_NEAR(cost.of(group).transfer_us, slowest, 1e-9 * slowest) << to_text(group) << ", seed " << seed;
      }
    }
  }
}

TEST(JobFlows, OverRoutesTakeAsLongAsOverBundlesWhereNothingCollides) {
  // Two hosts of one leaf: no route leaves it.
  const Parallelism p{.tensor = 4, .data = 2};
  const auto gpus = tree().gpus(8);
  const auto flows = job_flows(tree().bundles, gpus, p, kTraffic, CommGroup::data, false);
  EXPECT_EQ(flows.size(), 8U);  // four rings of two
  const auto routed = routed_transfer_us(tree().routed(), gpus, flows, ideal());
  const auto bundled = routed_transfer_us(tree().bundled(), gpus, flows, ideal());
  ASSERT_TRUE(routed && bundled);
  EXPECT_NEAR(*routed, transfer_us(1e9, 400'000), 1e-9 * *routed);
  EXPECT_NEAR(*bundled, *routed, 1e-9 * *routed);
}

TEST(JobFlows, NeverTakeLessOverRoutesThanOverBundles) {
  const Parallelism p{.tensor = 4, .data = 32, .pipeline = 2};
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<std::uint32_t> hosts(64);
    for (std::uint32_t h = 0; h < 64; ++h) hosts[h] = h;
    std::mt19937_64 random(seed);
    std::ranges::shuffle(hosts, random);
    std::vector<GpuId> gpus;
    for (const std::uint32_t h : hosts) {
      for (std::uint32_t g = 0; g < 4; ++g) gpus.emplace_back(4 * h + g);
    }
    const auto flows = job_flows(tree().bundles, gpus, p, kTraffic, CommGroup::data, false);
    const auto routed = routed_transfer_us(tree().routed(), gpus, flows, ideal());
    const auto bundled = routed_transfer_us(tree().bundled(), gpus, flows, ideal());
    ASSERT_TRUE(routed && bundled);
    EXPECT_GE(*routed, *bundled * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace railweave::scheduler::job_flows_test
