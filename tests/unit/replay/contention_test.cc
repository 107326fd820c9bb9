// The slowdown of two jobs computed by hand: on one adapter, and where they share nothing.
#include "services/railweave/lab/replay/contention.h"

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/collective/traffic.h"
#include "scheduler/collective/training_step.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::cli {
namespace {

using namespace scheduler;

// 8 hosts of 8 GPUs and one adapter, four to a leaf.
PlacementFabricPtr eight_hosts() {
  auto topology =
      fabric::generate("fat-tree", {{"hosts", "8"}, {"hosts-per-leaf", "4"}, {"nics-per-host", "1"}, {"radix", "16"}});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
}

// Four GPUs from the given one on each of two hosts: groups of four, two of them in a ring.
std::vector<fabric::GpuId> halves(const PlacementFabric& fabric, std::uint32_t a, std::uint32_t b, std::size_t first) {
  std::vector<fabric::GpuId> gpus;
  for (const auto host : {fabric::HostId(a), fabric::HostId(b)}) {
    for (std::size_t i = 0; i < 4; ++i) gpus.push_back(fabric.topology().gpus(host)[first + i]);
  }
  return gpus;
}

JobSpec two_groups() {
  JobSpec spec;
  spec.parallelism.tensor = 4;
  spec.parallelism.data = 2;
  return spec;
}

TEST(Contention, OfJobsThatShareNothingIsNone) {
  const auto fabric = eight_hosts();
  Contention contention(fabric);
  contention.start(1, two_groups(), halves(*fabric, 0, 1, 0));
  EXPECT_EQ(contention.slowdown(1).communication, 1);
  contention.start(2, two_groups(), halves(*fabric, 2, 3, 0));
  contention.start(3, two_groups(), halves(*fabric, 4, 5, 0));
  for (const std::uint64_t job : {1, 2, 3}) EXPECT_EQ(contention.slowdown(job).communication, 1) << job;
  // Inside one host nothing is sent.
  JobSpec small;
  small.parallelism.tensor = 4;
  auto inside = halves(*fabric, 0, 5, 0);
  inside.resize(4);
  contention.start(4, small, inside);
  EXPECT_FALSE(contention.sends(4));
  EXPECT_EQ(contention.slowdown(4).communication, 1);
}

TEST(Contention, OnOneAdapterIsWhatTheOtherLeavesOfIt) {
  const auto fabric = eight_hosts();
  Contention contention(fabric);
  const JobSpec spec = two_groups();
  const auto gpus = halves(*fabric, 0, 5, 0);
  contention.start(1, spec, gpus);
  contention.start(2, spec, halves(*fabric, 0, 5, 4));

  const GpuGeneration& generation = generation_of(*fabric);
  PlacementCostModel model(fabric->bundles(), generation);
  const ModelSpec assumed = assumed_model(spec.parallelism);
  const auto alone = model.predict(gpus, spec.parallelism, traffic_of(assumed, spec.parallelism),
                                   fabric->capacities_mbps(fabric::FabricView(fabric->topology_ptr())));
  const GroupCost& data = alone.of(CommGroup::data);
  ASSERT_EQ(data.bundle_kind, FabricBundles::Kind::adapter);
  // The other job sends for this part of each step; the rest of the adapter is residual, at least a half.
  const double period_us = training_step(assumed, spec.parallelism, generation, alone).step_us;
  const double residual = std::max(0.5, 1 - data.transfer_us / period_us);
  ASSERT_LT(residual, 1);
  const double beside_us = alone.total_us + data.transfer_us * (1 / residual - 1);
  for (const std::uint64_t job : {1, 2}) {
    EXPECT_NEAR(contention.slowdown(job).communication, beside_us / alone.total_us, 1e-6);
    EXPECT_GE(contention.slowdown(job).step, 1);
  }
  EXPECT_EQ(contention.jobs(), (std::vector<std::uint64_t>{1, 2}));
  contention.end(2);
  EXPECT_EQ(contention.slowdown(1).communication, 1);
  EXPECT_EQ(contention.slowdown(1).step, 1);
}

}  // namespace
}  // namespace railweave::cli
