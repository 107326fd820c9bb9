// Why a job does not fit, and what would help: each claim is checked by trying it.
#include <algorithm>

#include <gtest/gtest.h>

#include "planned_fabric.h"
#include "scheduler/placement/placer.h"

namespace railweave::scheduler::explanation_test {
namespace {

using fabric::LevelKind;
using testing_support::PlannedFabric;
using testing_support::regular_fabric;

JobSpec job(Parallelism parallelism) {
  JobSpec spec;
  spec.parallelism = parallelism;
  return spec;
}

const Exclusion* excluded(const Explanation& why, std::string_view reason) {
  const auto at = std::ranges::find(why.excluded, reason, &Exclusion::reason);
  return at == why.excluded.end() ? nullptr : &*at;
}

std::optional<Outcome> with(const Explanation& why, std::string_view change) {
  const auto at = std::ranges::find(why.counterfactuals, change, &Counterfactual::change);
  return at == why.counterfactuals.end() ? std::nullopt : std::optional(at->outcome);
}

TEST(Explanation, OfAJobThatMustWaitCountsWhatIsThere) {
  // 16 nodes in racks of 4; 5 nodes whole, 3 with 3 GPUs free each, the others full.
  const auto fabric = regular_fabric(16, 8, {{LevelKind::rack, 4}}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  for (std::size_t host = 5; host < 16; ++host) allocations.write(host).used = host < 8 ? 0x1f : 0xff;
  placer.sync(allocations);
  const auto result = placer.place(job({.tensor = 8, .data = 6}));
  ASSERT_EQ(result.outcome, Outcome::not_now);
  const Explanation& why = result.explanation;
  EXPECT_EQ(why.code, "jobs.noCapacityAtLevel");
  EXPECT_EQ(why.level, LevelKind::cluster);
  EXPECT_EQ(why.block_gpus, 8U);
  EXPECT_EQ(why.blocks_needed, 6U);
  EXPECT_EQ(why.blocks_fit, 5U);
  EXPECT_EQ(why.free_gpus, 49U);
  EXPECT_EQ(why.stranded_gpus, 9U);
  EXPECT_EQ(why.total_gpus, 128U);
  EXPECT_EQ(with(why, "data 6 -> 5"), Outcome::placed);
  ASSERT_EQ(why.levels.size(), 3U);
  EXPECT_EQ(why.levels[0].level, LevelKind::node);
  EXPECT_EQ(why.levels[0].groups, 16U);
  EXPECT_EQ(why.levels[0].best_blocks, 1U);
  EXPECT_EQ(why.levels[1].level, LevelKind::rack);
  EXPECT_EQ(why.levels[1].best_blocks, 4U);
  EXPECT_EQ(why.levels[1].best_blocks_empty, 4U);
  EXPECT_EQ(why.levels[1].groups_fit, 0U);
  EXPECT_EQ(why.levels[2].best_blocks, 5U);
  EXPECT_EQ(why.levels[2].best_blocks_empty, 16U);
  EXPECT_NE(why.message.find("6 groups of 8 GPUs"), std::string::npos) << why.message;
}

TEST(Explanation, NeverMeansNotEvenOnAnEmptyFabric) {
  const auto fabric = regular_fabric(16, 8, {{LevelKind::rack, 4}}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  for (std::size_t host = 0; host < 16; ++host) allocations.write(host).used = 0xff;
  placer.sync(allocations);
  EXPECT_EQ(placer.place(job({.tensor = 8, .data = 16})).outcome, Outcome::not_now);
  const auto result = placer.place(job({.tensor = 8, .data = 17}));
  ASSERT_EQ(result.outcome, Outcome::never);
  EXPECT_EQ(result.explanation.code, "jobs.neverFits");
  EXPECT_EQ(result.explanation.blocks_needed, 17U);
  EXPECT_EQ(result.explanation.blocks_fit, 16U) << "on the empty fabric";
  EXPECT_EQ(with(result.explanation, "data 17 -> 16"), Outcome::not_now);

  JobSpec in_rack = job({.tensor = 8, .data = 5});
  in_rack.job.required = LevelKind::rack;
  const auto racked = placer.place(in_rack);
  ASSERT_EQ(racked.outcome, Outcome::never);
  EXPECT_EQ(racked.explanation.level, LevelKind::rack);
  EXPECT_EQ(with(racked.explanation, "job within one cluster instead of one rack"), Outcome::not_now);
  placer.sync(no_allocations(fabric->topology()));
  EXPECT_EQ(with(placer.place(in_rack).explanation, "job within one cluster instead of one rack"), Outcome::placed);
}

TEST(Explanation, NamesTheLevelOfTheStageThatDoesNotFit) {
  const auto fabric = regular_fabric(16, 8, {{LevelKind::rack, 4}}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  for (const std::size_t host : {0, 4, 8, 12}) allocations.write(host).used = 0x01;
  placer.sync(allocations);
  JobSpec spec = job({.tensor = 8, .data = 4, .pipeline = 2});
  spec.stage.required = LevelKind::rack;
  const auto result = placer.place(spec);
  ASSERT_EQ(result.outcome, Outcome::not_now);
  EXPECT_EQ(result.explanation.level, LevelKind::rack);
  EXPECT_EQ(result.explanation.blocks_needed, 4U);
  EXPECT_EQ(result.explanation.blocks_fit, 3U);
  EXPECT_EQ(with(result.explanation, "data 4 -> 3"), Outcome::placed);
  EXPECT_EQ(with(result.explanation, "pipeline within one cluster instead of one rack"), Outcome::placed);
  JobSpec longer = job({.tensor = 8, .data = 3, .pipeline = 6});
  longer.stage.required = LevelKind::rack;
  const auto stages = placer.place(longer);
  ASSERT_EQ(stages.outcome, Outcome::never) << "four racks hold four stages of three nodes";
  EXPECT_EQ(with(stages.explanation, "pipeline 6 -> 4"), Outcome::placed);
}

TEST(Explanation, CountsEveryHostThatIsOutOnceWithItsReason) {
  PlannedFabric plan = regular_fabric(10, 8, {});
  plan.hosts[9].domain_of_gpu.clear();
  plan.hosts[8].domain_of_gpu.assign(8, -1);
  for (std::size_t host = 0; host < 6; ++host) plan.hosts[host].labels = {{"gpu", "h100"}};
  plan.hosts[8].labels = {{"gpu", "h100"}};
  const auto fabric = plan.build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  allocations.write(0).unavailable = true;
  allocations.write(1).unavailable = true;
  placer.sync(allocations);
  JobSpec spec = job({.tensor = 8, .data = 4});
  spec.node_selector = {{"gpu", "h100"}};
  spec.exclude_nodes = {"node-1", "node-2", "node-77"};
  const auto result = placer.place(spec);
  ASSERT_EQ(result.outcome, Outcome::not_now);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_NE(result.warnings[0].find("node-77"), std::string::npos);
  const Explanation& why = result.explanation;
  EXPECT_EQ(why.blocks_fit, 3U);
  ASSERT_NE(excluded(why, "excludedByJob"), nullptr);
  EXPECT_EQ(excluded(why, "excludedByJob")->nodes, 2U);
  EXPECT_EQ(excluded(why, "excludedByJob")->examples, (std::vector<std::string>{"node-1", "node-2"}));
  EXPECT_EQ(excluded(why, "drained")->nodes, 1U);
  EXPECT_EQ(excluded(why, "labelsDiffer")->nodes, 2U);
  EXPECT_EQ(excluded(why, "noNvlinkDomain")->nodes, 1U);
  EXPECT_EQ(excluded(why, "noGpus")->nodes, 1U);
  EXPECT_EQ(with(why, "with 1 drained node back"), Outcome::placed);
  EXPECT_EQ(with(why, "without excludeNodes"), Outcome::placed);
  EXPECT_EQ(with(why, "data 4 -> 3"), Outcome::placed);

  // What was set aside to answer is back.
  EXPECT_TRUE(placer.tree().allocation(fabric::HostId(0)).unavailable);
  EXPECT_TRUE(placer.tree().allocation(fabric::HostId(1)).unavailable);
  EXPECT_FALSE(placer.tree().allocation(fabric::HostId(2)).unavailable);
  EXPECT_EQ(placer.tree().total_free(), 7U * 8U);
}

TEST(Explanation, NamesTheLinkWhoseReturnWouldHelp) {
  const auto fabric = regular_fabric(4, 8, {{LevelKind::rack, 2}}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  allocations.write(0).used = 0xff;
  allocations.write(1) = {.used = 1, .unavailable = true, .short_of_link = true};
  allocations.write(3) = {.used = 0, .unavailable = true, .short_of_link = true};
  placer.sync(allocations);
  const auto two = placer.place(job({.tensor = 8, .data = 2}));
  ASSERT_EQ(two.outcome, Outcome::not_now);
  EXPECT_EQ(with(two.explanation, "after the link of node-3 returns"), Outcome::placed) << "node-1 is in use";
  EXPECT_EQ(excluded(two.explanation, "linkDown")->nodes, 2U);

  const auto many = placer.place(job({.data = 20}));
  ASSERT_EQ(many.outcome, Outcome::not_now);
  EXPECT_EQ(with(many.explanation, "after the links of 2 nodes return"), Outcome::placed);

  allocations.write(2).unavailable = true;
  placer.sync(allocations);
  const auto most = placer.place(job({.data = 20}));
  EXPECT_EQ(with(most.explanation, "with 1 drained node back and after the links of 2 nodes return"), Outcome::placed);
  EXPECT_EQ(with(most.explanation, "with 1 drained node back"), std::nullopt);
  EXPECT_TRUE(placer.tree().allocation(fabric::HostId(3)).short_of_link) << "what was tried is undone";
}

TEST(Explanation, SaysWhatPreventsAJobThatHoldsMoreThanItsRanks) {
  const auto fabric = regular_fabric(4, 8, {{LevelKind::rack, 2}}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  allocations.write(0).used = 1;
  allocations.write(3).used = 1;
  placer.sync(allocations);
  JobSpec spec = job({.tensor = 4});
  spec.exclusive = LevelKind::rack;
  const auto alone = placer.place(spec);
  ASSERT_EQ(alone.outcome, Outcome::not_now);
  EXPECT_EQ(excluded(alone.explanation, "groupInUse")->nodes, 4U);
  EXPECT_EQ(with(alone.explanation, "without exclusive rack"), Outcome::placed);
  EXPECT_EQ(alone.explanation.free_gpus, 30U);
  EXPECT_NE(alone.explanation.message.find("each rack used by no other job"), std::string::npos);

  spec.exclusive.reset();
  spec.spares_per_domain = 5;
  const auto sparing = placer.place(spec);
  ASSERT_EQ(sparing.outcome, Outcome::never);
  EXPECT_EQ(with(sparing.explanation, "sparesPerDomain 5 -> 4"), Outcome::placed);

  spec = job({.tensor = 4, .data = 4});
  spec.spread = SpreadLimit{LevelKind::node, 4};
  allocations.write(1).used = 0x1f;
  placer.sync(allocations);
  const auto spread = placer.place(spec);
  ASSERT_EQ(spread.outcome, Outcome::not_now);
  EXPECT_EQ(with(spread.explanation, "without spread"), Outcome::placed);
  EXPECT_EQ(with(spread.explanation, "data 4 -> 3"), Outcome::placed);
}

TEST(Explanation, SaysWhichLevelsThereAreWhenOneIsNot) {
  const auto fabric = regular_fabric(4, 8, {{LevelKind::leaf_group, 2}}).build();
  Placer placer(fabric);
  JobSpec spec = job({.tensor = 8, .data = 2});
  spec.stage.required = LevelKind::rack;
  const auto result = placer.place(spec);
  EXPECT_EQ(result.outcome, Outcome::never);
  EXPECT_EQ(result.explanation.code, "jobs.unknownLevel");
  EXPECT_NE(result.explanation.message.find("rack"), std::string::npos);
  EXPECT_NE(result.explanation.message.find("leafGroup"), std::string::npos) << result.explanation.message;
}

TEST(Explanation, OfImpossibleParallelismIsAnAnswerNotACrash) {
  const auto fabric = regular_fabric(4, 8, {}).build();
  Placer placer(fabric);
  for (const Parallelism& parallelism :
       {Parallelism{.tensor = 0}, Parallelism{.data = UINT32_MAX}, Parallelism{65536, 65536, 65536, 65536, 1},
        Parallelism{.data = 1U << 20U}, Parallelism{.tensor = 1U << 20U}, Parallelism{.pipeline = 1U << 20U},
        Parallelism{.context = 1U << 19U, .expert = 2}, Parallelism{.tensor = 9},
        Parallelism{.tensor = 16, .pipeline = 7}}) {
    const auto result = placer.place(job(parallelism));
    EXPECT_EQ(result.outcome, Outcome::never);
    EXPECT_FALSE(result.explanation.code.empty());
    EXPECT_FALSE(result.explanation.message.empty());
  }
  JobSpec per_node = job({.tensor = 4, .data = 4});
  per_node.gpus_per_node = 16;
  EXPECT_EQ(placer.place(per_node).outcome, Outcome::never);
  EXPECT_EQ(with(placer.place(per_node).explanation, "without gpusPerNode"), Outcome::placed);
}

}  // namespace
}  // namespace railweave::scheduler::explanation_test
