// Jobs run on GPUs of one model unless they ask otherwise: against counting by hand on random fabrics.
#include <array>
#include <bit>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planned_fabric.h"
#include "scheduler/placement/placer.h"

namespace railweave::scheduler::models_test {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing_support;

PlannedFabric two_models(std::size_t hosts, unsigned gpus) {
  PlannedFabric plan = regular_fabric(hosts, gpus, {});
  for (std::size_t h = 0; h < hosts; ++h) {
    plan.hosts[h].labels.emplace_back("gpu", h < hosts / 2 ? "b200" : "h100");
    for (unsigned rail = 0; rail < gpus; ++rail) {
      plan.hosts[h].rail_of_nic.push_back(rail);
      plan.hosts[h].nics_of_gpu.push_back({rail});
    }
  }
  return plan;
}

std::set<std::string> models_used(const PlacementFabric& fabric, const Placement& placement) {
  std::set<std::string> models;
  for (const auto gpu : placement.gpu_of_rank) {
    for (const auto& label : fabric.topology().labels(fabric.topology().host(gpu))) {
      if (fabric.topology().text(label.key) == "gpu") models.emplace(fabric.topology().text(label.value));
    }
  }
  return models;
}

TEST(GpuModels, AJobStaysOnOneUnlessItMayMixThem) {
  const auto fabric = two_models(4, 8).build();
  Placer placer(fabric);
  JobSpec spec;
  spec.parallelism = {.tensor = 8, .data = 4};
  const auto refused = placer.place(spec);
  EXPECT_EQ(refused.outcome, Outcome::never);
  EXPECT_THAT(refused.explanation.message, HasSubstr("a job does not mix models"));
  EXPECT_THAT(refused.explanation.counterfactuals, Contains(Field(&Counterfactual::change, HasSubstr("mixedGpus"))));
  EXPECT_FALSE(placer.fits(spec));
  spec.mixed_gpus = true;
  const auto mixed = placer.place(spec);
  ASSERT_EQ(mixed.outcome, Outcome::placed);
  ASSERT_EQ(mixed.warnings.size(), 1U);
  EXPECT_THAT(mixed.warnings[0], HasSubstr("H100, B200"));
  EXPECT_EQ(mixed.placement.predicted->generation, "H100") << "as fast as its slowest GPUs";

  spec.mixed_gpus = false;
  spec.parallelism.data = 2;
  EXPECT_EQ(models_used(*fabric, placer.place(spec).placement), std::set<std::string>{"h100"})
      << "over the network the newer GPUs are no faster";
  spec.parallelism = {.data = 16};  // computation decides
  spec.model = ModelSpec{.parameters = 7e9,
                         .layers = 32,
                         .hidden_size = 4096,
                         .sequence_length = 4096,
                         .micro_batch = 1,
                         .global_batch = 64};
  const auto placed = placer.place_with_alternatives(spec);
  ASSERT_EQ(placed.outcome, Outcome::placed);
  EXPECT_EQ(models_used(*fabric, placed.placement), std::set<std::string>{"b200"}) << "the faster";
  EXPECT_EQ(placed.placement.predicted->generation, "B200");
  EXPECT_THAT(placed.warnings, IsEmpty());
  EXPECT_THAT(placed.alternatives, Contains(Field(&Alternative::change, "on H100 GPUs")));
  spec.node_selector = {{"gpu", "h100"}};
  EXPECT_EQ(models_used(*fabric, placer.place(spec).placement), std::set<std::string>{"h100"});
}

TEST(GpuModels, AJobFitsWhereOneModelHasEnough) {
  int placed = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    PlannedFabric plan = two_models(3 + below(random, 6), 4);
    for (auto& host : plan.hosts) {
      static constexpr std::array kModels{"a100", "h100", "mi300"};
      host.labels.back().second = kModels[below(random, kModels.size())];
    }
    const auto fabric = plan.build();
    const Allocations allocations = random_allocations(random, *fabric, 0.4);
    Placer placer(fabric);
    placer.sync(allocations);
    std::map<std::string, std::uint64_t> pieces;
    JobSpec spec;
    spec.parallelism = {.tensor = 1U << below(random, 3), .data = static_cast<std::uint32_t>(1 + below(random, 6))};
    for (const auto host : fabric->topology().hosts()) {
      const HostAllocation& allocation = allocations[host.index()];
      if (allocation.unavailable) continue;
      pieces[plan.hosts[host.index()].labels.back().second] +=
          (4 - static_cast<std::uint32_t>(std::popcount(allocation.used & 0xFU))) / spec.parallelism.tensor;
    }
    std::uint64_t most = 0, all = 0;
    for (const auto& [model, count] : pieces) most = std::max(most, count), all += count;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto result = placer.place(spec);
    const bool fits = most >= spec.parallelism.data;
    (fits ? placed : refused) += 1;
    ASSERT_EQ(result.outcome == Outcome::placed, fits);
    ASSERT_EQ(placer.fits(spec), fits);
    ASSERT_EQ(placer.try_place(spec).has_value(), fits);
    if (fits) {
      EXPECT_EQ(models_used(*fabric, result.placement).size(), 1U);
    }
    spec.mixed_gpus = true;
    ASSERT_EQ(placer.fits(spec), all >= spec.parallelism.data);
  }
  EXPECT_GT(placed, 30);
  EXPECT_GT(refused, 30);
}

// One GPU leaves whole groups whole: of nodes that are alike the one in the fullest group is taken.
TEST(Ties, GoToTheFullestEnclosingGroup) {
  const auto plan = regular_fabric(12, 4, {{fabric::LevelKind::rack, 2}, {fabric::LevelKind::leaf_group, 4}});
  const auto fabric = plan.build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  std::vector<fabric::GpuId> taken;
  for (const auto gpu : fabric->topology().gpus(fabric::HostId(9))) taken.push_back(gpu);
  ASSERT_TRUE(take(allocations, fabric->topology(), taken));
  placer.sync(allocations);
  JobSpec spec;
  spec.parallelism.data = 1;
  auto result = placer.place(spec);
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(fabric->topology().host(result.placement.gpu_of_rank[0]).value(), 8U) << "beside the full node";
  taken.assign(fabric->topology().gpus(fabric::HostId(8)).begin(), fabric->topology().gpus(fabric::HostId(8)).end());
  ASSERT_TRUE(take(allocations, fabric->topology(), taken));
  placer.sync(allocations);
  result = placer.place(spec);
  EXPECT_EQ(fabric->topology().host(result.placement.gpu_of_rank[0]).value(), 10U) << "in the leaf group in use";
}

}  // namespace
}  // namespace railweave::scheduler::models_test
