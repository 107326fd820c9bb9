// Few leaf groups of few pods against all sets of leaf groups of small fabrics.
#include "scheduler/placement/search/fewest_uplinks.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "scheduler/placement/fit/placement_tree.h"
#include "tests/unit/placement/planned_fabric.h"

namespace railweave::scheduler::fewest_uplinks_test {
namespace {

using namespace testing_support;

constexpr unsigned kHosts = 24, kGpus = 2, kHostsOfGroup = 2, kGroupsOfPod = 3, kGroups = kHosts / kHostsOfGroup;

// Uplinks of leaf groups, and of pods where there are several.
std::size_t crossed(const std::vector<unsigned>& groups) {
  std::set<unsigned> pods;
  for (const unsigned group : groups) pods.insert(group / kGroupsOfPod);
  return groups.size() + (pods.size() > 1 ? pods.size() : 0);
}

std::vector<unsigned> groups_of(const std::vector<GroupPortion>& portions) {
  std::vector<unsigned> groups;
  for (const GroupPortion& portion : portions) groups.push_back(portion.group);
  return groups;
}

std::size_t least_crossed(const std::vector<std::uint32_t>& free, std::uint64_t count) {
  std::size_t least = SIZE_MAX;
  for (std::uint32_t set = 1; set < 1U << kGroups; ++set) {
    std::vector<unsigned> groups;
    std::uint64_t held = 0;
    for (unsigned group = 0; group < kGroups; ++group) {
      if ((set >> group & 1U) == 0) continue;
      groups.push_back(group);
      held += free[group];
    }
    if (held >= count) least = std::min(least, crossed(groups));
  }
  return least;
}

TEST(FewestUplinks, CrossesFewerThanTheFewestGroupsWhereThatCanBe) {
  const auto fabric = regular_fabric(kHosts, kGpus,
                                     {{fabric::LevelKind::leaf_group, kHostsOfGroup},
                                      {fabric::LevelKind::pod, kHostsOfGroup * kGroupsOfPod},
                                      {fabric::LevelKind::cluster, kHosts}})
                          .build();
  const Hierarchy& hierarchy = fabric->hierarchy();
  const unsigned level = hierarchy.level_of(fabric::LevelKind::leaf_group);
  BestFit best_fit(hierarchy);
  std::size_t could_be = 0, found = 0, least_found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    PlacementTree tree(fabric->hierarchy_ptr());
    for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
      tree.set_free(leaf, random() % 3 == 0 ? static_cast<std::uint32_t>(below(random, kGpus + 1)) : kGpus);
    }
    std::vector<std::uint32_t> free;
    for (GroupIndex group = 0; group < kGroups; ++group) free.push_back(tree.free(level, group));
    JobShape shape;
    shape.count = 2 + below(random, tree.total_free() - 1);
    shape.max_level = hierarchy.top();
    const FitIndex& index = tree.fit_index(shape.fit);
    const auto fewest = fewest_groups(best_fit, hierarchy, index, shape, level, level + 1);
    ASSERT_FALSE(fewest.empty()) << "seed " << seed;
    const std::size_t before = crossed(groups_of(fewest)), least = least_crossed(free, shape.count);
    could_be += least < before ? 1 : 0;
    const auto portions = fewest_uplinks(best_fit, hierarchy, index, shape, level, fewest);
    if (portions.empty()) continue;
    ++found;
    const std::size_t crosses = crossed(groups_of(portions));
    EXPECT_LT(crosses, before) << "seed " << seed;
    EXPECT_GE(crosses, least) << "seed " << seed;
    least_found += crosses == least ? 1 : 0;
    std::uint64_t given = 0;
    for (const GroupPortion& portion : portions) {
      EXPECT_LE(portion.amount, free[portion.group]) << "seed " << seed;
      given += portion.amount;
    }
    EXPECT_EQ(given, shape.count) << "seed " << seed;
    EXPECT_TRUE(std::ranges::is_sorted(portions, {}, &GroupPortion::group)) << "seed " << seed;
  }
  RecordProperty("could_be", static_cast<int>(could_be));
  EXPECT_GT(could_be, 30U);
  EXPECT_GE(found * 10, could_be * 9) << found << " of " << could_be;
  EXPECT_GE(least_found * 10, could_be * 9) << least_found << " of " << could_be;
}

}  // namespace
}  // namespace railweave::scheduler::fewest_uplinks_test
