// Which of a job's shapes is the best, against the rule itself on random merits, in every order of the request.
#include "scheduler/job/alternative_shapes.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace railweave::scheduler {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<std::uint64_t> ranks_of(const std::vector<ShapeMerit>& merits) {
  std::vector<std::uint64_t> ranks;
  for (const std::size_t i : best_first(merits)) ranks.push_back(merits[i].ranks);
  return ranks;
}

TEST(AlternativeShapes, AreEqualToTheFastestAndNotToEachOther) {
  // Each is within 1% of the next; the smallest is not within 1% of the fastest.
  EXPECT_EQ(ranks_of({{100, 3}, {100.9, 2}, {101.8, 1}}), (std::vector<std::uint64_t>{2, 3, 1}));
  EXPECT_EQ(ranks_of({{100, 3}, {kNever, 4}, {90, 1}}), (std::vector<std::uint64_t>{4, 3, 1})) << "not predicted";
  EXPECT_TRUE(best_first({}).empty());
}

TEST(AlternativeShapes, DoNotDependOnTheOrderOfTheRequest) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<ShapeMerit> merits;
    for (std::uint64_t ranks = 1; ranks <= 1 + random() % 5; ++ranks) {
      const double us = 100 + static_cast<double>(random() % 40) / 10;
      merits.push_back({random() % 12 == 0 ? kNever : us, ranks});
    }
    const auto wanted = ranks_of(merits);
    const bool unknown = std::ranges::any_of(merits, [](const ShapeMerit& one) { return one.unit_us == kNever; });
    for (const ShapeMerit& one : merits) {
      const double best = std::ranges::min(merits, {}, &ShapeMerit::unit_us).unit_us;
      if (unknown) {
        ASSERT_LE(one.ranks, wanted.front()) << "seed " << seed;
      } else if (one.unit_us <= best * 1.01) {
        ASSERT_GE(one.ranks, wanted.front()) << "seed " << seed;
      }
    }
    std::ranges::shuffle(merits, random);
    ASSERT_EQ(ranks_of(merits), wanted) << "seed " << seed;
  }
}

}  // namespace
}  // namespace railweave::scheduler
