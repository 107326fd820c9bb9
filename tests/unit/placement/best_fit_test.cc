// BestFit with counts kept up to date against BestFit that counts everything from scratch: identical assignments.
#include "scheduler/placement/fit/best_fit.h"

#include <bit>
#include <map>

#include <gtest/gtest.h>

#include "naive_best_fit.h"
#include "planned_fabric.h"
#include "scheduler/placement/fit/placement_tree.h"

namespace railweave::scheduler::best_fit_test {
namespace {

using testing_support::below;
using testing_support::NaiveBestFit;
using testing_support::Random;

FitShape random_shape(Random& random, const Hierarchy& hierarchy, const std::shared_ptr<const LeafFilter>& filter) {
  FitShape shape;
  shape.block = static_cast<std::uint32_t>(1 + below(random, 8));
  shape.nvlink = below(random, 4) != 0;
  shape.straddle_top = shape.nvlink ? static_cast<unsigned>(below(random, hierarchy.level_count())) : 0;
  if (below(random, 3) == 0) {
    shape.per_node = static_cast<std::uint32_t>(1 + below(random, 4));
    if (shape.per_node % shape.block != 0 && shape.block % shape.per_node != 0) shape.per_node = shape.block;
  }
  if (below(random, 4) == 0 && shape.per_node == 0 && shape.block % 2 == 0) shape.grain = 2;
  if (below(random, 4) == 0) shape.filter = filter;
  return shape;
}

std::vector<Rung> random_rungs(Random& random, const Hierarchy& hierarchy, const FitShape& shape) {
  std::vector<Rung> rungs;
  const unsigned least = shape.per_node != 0 ? hierarchy.host_level() : 0;
  for (unsigned level = std::max(shape.straddle_top, least); level < hierarchy.top(); ++level) {
    if (below(random, 3) == 0) rungs.push_back({level, 2 + below(random, 3)});
  }
  return rungs;
}

// Changes leaves at random and compares after every change, for shapes drawn again and again from a few.
void compare(const testing_support::PlannedFabric& plan, Random& random, int steps, std::uint64_t most_count) {
  const auto fabric = plan.build();
  const Hierarchy& hierarchy = fabric->hierarchy();
  if (hierarchy.leaf_count() == 0) return;
  auto filter = std::make_shared<LeafFilter>();
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) filter->push_back(below(random, 3) == 0 ? 0 : 1);
  std::vector<FitShape> shapes;
  for (int i = 0; i < 5; ++i) shapes.push_back(random_shape(random, hierarchy, filter));

  PlacementTree tree(fabric->hierarchy_ptr());
  BestFit best_fit(hierarchy);
  const auto hosts = fabric->topology().hosts().size();
  for (int step = 0; step < steps; ++step) {
    for (std::uint64_t changes = below(random, 3); changes > 0; --changes) {
      HostAllocation allocation;
      allocation.used = random() & random();
      if (below(random, 3) == 0) allocation.used = below(random, 2) == 0 ? 0 : ~std::uint64_t{0};
      allocation.unavailable = below(random, 30) == 0;
      tree.set(fabric::HostId(below(random, hosts)), allocation);
    }
    const FitShape& shape = shapes[below(random, shapes.size())];
    const auto rungs = random_rungs(random, hierarchy, shape);
    FitRequest request{.rungs = rungs, .count = 1 + below(random, most_count), .max_level = hierarchy.top()};
    if (below(random, 3) == 0) request.max_level = static_cast<unsigned>(below(random, hierarchy.level_count()));
    while (!rungs.empty() && request.max_level < rungs.back().level) ++request.max_level;

    std::vector<std::uint32_t> free;
    for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
      free.push_back(static_cast<std::uint32_t>(std::popcount(tree.free_mask(leaf))));
      ASSERT_EQ(free.back(), tree.free(0, leaf));
    }
    const FitIndex& index = tree.fit_index(shape);
    const NaiveBestFit naive(hierarchy, shape, rungs, free);
    SCOPED_TRACE("step " + std::to_string(step) + ", block " + std::to_string(shape.block) + ", straddle " +
                 std::to_string(shape.straddle_top) + ", per node " + std::to_string(shape.per_node) + ", grain " +
                 std::to_string(shape.grain) + ", count " + std::to_string(request.count) + ", rungs " +
                 std::to_string(rungs.size()));
    if (step % 16 == 0) {
      for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
        for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
          ASSERT_EQ(index.units(level, group), naive.units(level, group)) << "level " << level << " group " << group;
          ASSERT_EQ(index.value(level, group), naive.value(level, group)) << "level " << level << " group " << group;
        }
      }
    }
    const auto fit = best_fit.find(index, request);
    const auto wanted = naive.place(request.count, request.max_level);
    ASSERT_EQ(fit.has_value(), wanted.has_value());
    if (!fit) continue;
    NaiveBestFit::Answer got{fit->level, fit->group, std::vector<std::uint32_t>(hierarchy.leaf_count(), 0)};
    LeafIndex last = 0;
    for (const Share& share : best_fit.distribute(index, request, *fit)) {
      ASSERT_GE(share.leaf, last) << "in order of leaves";
      last = share.leaf;
      got.gpus_of_leaf[share.leaf] += share.gpus;
      ASSERT_LE(got.gpus_of_leaf[share.leaf], free[share.leaf]);
    }
    ASSERT_EQ(got, *wanted);
  }
}

TEST(BestFit, AssignsAsTheNaiveOneOnIrregularFabrics) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    compare(testing_support::random_fabric(random, 60, 8), random, 120, 40);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(BestFit, AssignsAsTheNaiveOneWhereGroupsHaveHundredsOfChildren) {
  using fabric::LevelKind;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    compare(testing_support::regular_fabric(400, 8, {}), random, 60, 600);
    compare(testing_support::regular_fabric(400, 8, {{LevelKind::rack, 2}}), random, 60, 600);
    compare(testing_support::regular_fabric(390, 4, {{LevelKind::rack, 130}}), random, 60, 300);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(BestFit, UsesUpFragmentsWhereNearnessDoesNotMatter) {
  const auto hierarchy = std::make_shared<const Hierarchy>(std::vector<std::uint32_t>{4, 4, 4, 4},
                                                           std::vector<Hierarchy::PlainLevel>{{{0, 0, 0, 0}}});
  PlacementTree tree(hierarchy);
  tree.set_free(1, 1);
  tree.set_free(2, 0);
  tree.set_free(3, 2);
  BestFit best_fit(*hierarchy);
  const FitRequest request{.rungs = {}, .count = 4, .max_level = 1, .fill = Fill::fragments};
  const auto& index = tree.fit_index({});
  const auto fit = best_fit.find(index, request, 1);
  ASSERT_TRUE(fit);
  std::map<LeafIndex, std::uint32_t> got;
  for (const Share& share : best_fit.distribute(index, request, *fit)) got[share.leaf] = share.gpus;
  EXPECT_EQ(got, (std::map<LeafIndex, std::uint32_t>{{0, 1}, {1, 1}, {3, 2}}));
}

}  // namespace
}  // namespace railweave::scheduler::best_fit_test
