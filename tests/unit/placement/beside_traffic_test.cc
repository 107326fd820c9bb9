// Candidates are scored beside what placed jobs send; what is predicted alone stays what it was.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "scheduler/placement/placer.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "tests/support/fat_trees.h"

namespace railweave::scheduler::beside_traffic_test {
namespace {

using fabric::GpuId;

// Two pods of two leaves of four hosts with one GPU each; one uplink for four hosts.
PlacementFabricPtr narrow() {
  return std::make_shared<const PlacementFabric>(fabric::testing::make_fat_tree({.hosts_per_leaf = 4,
                                                                                 .leaves_per_pod = 2,
                                                                                 .spines_per_pod = 1,
                                                                                 .pods = 2,
                                                                                 .cores_per_spine = 1,
                                                                                 .gpus_per_host = 1}));
}

JobSpec ring_of(std::uint32_t ranks) {
  JobSpec spec;
  spec.parallelism.data = ranks;
  spec.traffic = TrafficSpec{.data = {.bytes = 1e9, .calls = 1}};
  return spec;
}

void take(Placer& placer, std::span<const GpuId> gpus) {
  Allocations allocations = no_allocations(placer.fabric().topology());
  ASSERT_TRUE(scheduler::take(allocations, placer.fabric().topology(), gpus));
  placer.sync(allocations);
}

TEST(BesideTraffic, AJobGoesWhereOthersDoNotSend) {
  const auto fabric = narrow();
  Placer placer(fabric);
  // Half of every leaf is taken, by a job over leaves 0 and 1 and one on each of the others.
  const std::vector<GpuId> over_two{GpuId(0), GpuId(4), GpuId(1), GpuId(5)};
  std::vector<GpuId> taken(over_two);
  for (const std::uint32_t gpu : {8U, 9U, 12U, 13U}) taken.emplace_back(gpu);
  take(placer, taken);
  const JobSpec spec = ring_of(4);
  const auto before = placer.place_with_alternatives(spec);
  ASSERT_EQ(before.outcome, Outcome::placed);
  ASSERT_FALSE(before.alternatives.empty());
  for (const auto& other : before.alternatives) EXPECT_EQ(other.communication_us, other.shared_communication_us);

  BundleTraffic traffic(fabric);
  placer.set_residual(traffic.residual_mbps());
  EXPECT_EQ(placer.place(spec).placement.gpu_of_rank, before.placement.gpu_of_rank) << "no job sends yet";
  traffic.add(1, ring_of(4), over_two);
  const auto beside = placer.place_with_alternatives(spec);
  ASSERT_EQ(beside.outcome, Outcome::placed);
  ASSERT_FALSE(beside.placement.gpu_of_rank.empty());
  for (const GpuId gpu : beside.placement.gpu_of_rank) EXPECT_GE(gpu.value(), 8U) << "the other pod";
  EXPECT_EQ(beside.placement.predicted->communication_us, before.placement.predicted->communication_us);
  ASSERT_FALSE(beside.alternatives.empty());
  for (const auto& other : beside.alternatives) EXPECT_GE(other.shared_communication_us, other.communication_us);
  EXPECT_EQ(placer.predict(spec, beside.placement.gpu_of_rank), *beside.placement.predicted);

  traffic.remove(1);
  EXPECT_EQ(placer.place(spec).placement.gpu_of_rank, before.placement.gpu_of_rank);
}

// Reserved bandwidth is no traffic: it does not change predictions for a job alone.
TEST(BesideTraffic, PredictionsAloneAreOfTheLinksThatAreUp) {
  const auto fabric = narrow();
  Placer placer(fabric);
  const JobSpec spec = ring_of(16);
  const auto whole = placer.place(spec);
  const std::vector<double> up(fabric->nominal_mbps().begin(), fabric->nominal_mbps().end());
  std::vector<double> left(up);
  for (double& mbps : left) mbps /= 2;
  placer.set_capacities(left, up);
  EXPECT_EQ(*placer.place(spec).placement.predicted, *whole.placement.predicted);
  placer.set_capacities(left);
  EXPECT_GT(placer.place(spec).placement.predicted->communication_us, whole.placement.predicted->communication_us);
}

TEST(BesideTraffic, ResidualCapacityFollowsFromThePlacedJobs) {
  const auto fabric = narrow();
  std::mt19937_64 random(3);
  BundleTraffic one(fabric), two(fabric);
  std::vector<std::pair<std::uint64_t, std::vector<GpuId>>> jobs;
  std::vector<std::uint32_t> gpus(16);
  for (std::uint32_t g = 0; g < 16; ++g) gpus[g] = g;
  std::ranges::shuffle(gpus, random);
  for (std::uint64_t job = 1; job <= 4; ++job) {
    jobs.emplace_back(job, std::vector<GpuId>());
    for (std::uint32_t i = 0; i < 4; ++i) jobs.back().second.emplace_back(gpus[4 * (job - 1) + i]);
    one.add(job, ring_of(4), jobs.back().second);
  }
  for (const auto& [job, where] : jobs) two.add(10 * job, ring_of(4), where);
  std::vector<double> half(fabric->nominal_mbps().begin(), fabric->nominal_mbps().end());
  for (double& mbps : half) mbps /= 2;
  two.set_capacities(half);
  std::ranges::reverse(jobs);
  for (const auto& [job, where] : jobs) two.remove(10 * job);
  two.set_capacities({fabric->nominal_mbps().begin(), fabric->nominal_mbps().end()});
  for (const auto& [job, where] : jobs) two.add(job, ring_of(4), where);
  EXPECT_EQ(*one.residual_mbps(), *two.residual_mbps());
  const auto is_less = [&](double mbps) { return std::isfinite(mbps); };
  EXPECT_TRUE(std::ranges::any_of(*one.residual_mbps(), is_less));
  for (const auto& [job, where] : jobs) one.remove(job);
  EXPECT_TRUE(std::ranges::none_of(*one.residual_mbps(), is_less));
}

}  // namespace
}  // namespace railweave::scheduler::beside_traffic_test
