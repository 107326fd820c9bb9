// A job of several shapes, placed without a queue: 16 GPUs, of which the shapes ask for some or for more than there are.
#include "scheduler/placement/shape_choice.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fat_trees.h"

namespace railweave::scheduler::shape_choice_test {
namespace {

PlacementFabricPtr sixteen() {
  return std::make_shared<const PlacementFabric>(fabric::testing::make_fat_tree({.hosts_per_leaf = 4,
                                                                                 .leaves_per_pod = 2,
                                                                                 .spines_per_pod = 1,
                                                                                 .pods = 2,
                                                                                 .cores_per_spine = 1,
                                                                                 .gpus_per_host = 1}));
}

std::pair<PlacementResult, JobSpec> choose(const std::vector<std::uint32_t>& ranks) {
  JobSpec spec;
  spec.name = "shaped";
  spec.traffic = TrafficSpec{.data = {.bytes = 1e9, .calls = 1}};
  for (const std::uint32_t data : ranks) {
    spec.shapes.push_back(spec.parallelism);
    spec.shapes.back().data = data;
  }
  Placer placer(sixteen());
  PlacementResult result = place_in_best_shape(placer, spec);
  return {std::move(result), std::move(spec)};
}

TEST(ShapeChoice, TakesOneThatFitsAndMarksIt) {
  const auto [result, spec] = choose({64, 4, 32});
  EXPECT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(spec.parallelism.data, 4U);
  ASSERT_EQ(result.shapes.size(), 3U);
  EXPECT_TRUE(result.shapes[1].taken);
  EXPECT_EQ(std::ranges::count(result.shapes, true, &ShapeAnswer::taken), 1);
}

TEST(ShapeChoice, IsRefusedAsItsSmallest) {
  const auto [result, spec] = choose({64, 24, 32});
  EXPECT_NE(result.outcome, Outcome::placed);
  EXPECT_EQ(spec.parallelism.data, 24U);
  EXPECT_EQ(std::ranges::count(result.shapes, true, &ShapeAnswer::taken), 0);
}

}  // namespace
}  // namespace railweave::scheduler::shape_choice_test
