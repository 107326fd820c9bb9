#include "fabric/flow/class_shares.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/unit/flow/naive_water_filling.h"
#include "tests/unit/flow/random_flows.h"

namespace railweave::fabric {
namespace {

using testing::OwnedFlows;
using testing::random_flows;

constexpr ClassOptions kExact{.max_rounds = 200, .tolerance = 1e-9};

struct Classes {
  OwnedFlows flows;
  std::vector<std::uint8_t> class_of;
  std::vector<double> weight;
  std::size_t count = 0;
  [[nodiscard]] ClassProblem problem() const {
    return {.flows = flows.problem(), .class_of = class_of, .classes = count, .class_weight = weight};
  }
};

Classes random_classes(std::uint64_t seed) {
  std::mt19937_64 random(seed * 7 + 1);
  Classes classes{.flows = random_flows(seed), .class_of = {}, .weight = {}, .count = 1 + random() % 4};
  for (std::size_t f = 0; f < classes.flows.size(); ++f) {
    classes.class_of.push_back(static_cast<std::uint8_t>(random() % classes.count));
  }
  for (std::size_t c = 0; c < classes.count; ++c) classes.weight.push_back(1 + static_cast<double>(random() % 9));
  return classes;
}

TEST(ClassShares, SharesByClassFirstThenByFlow) {
  // Class 0, weight 3: one flow. Class 1, weight 1: four flows.
  Classes c{.flows = {}, .class_of = {0, 1, 1, 1, 1}, .weight = {3, 1}, .count = 2};
  c.flows.capacity = {100};
  for (int f = 0; f < 5; ++f) c.flows.add({0});
  const ClassRates rates = class_shared_rates(c.problem(), kExact);
  EXPECT_TRUE(rates.settled);
  EXPECT_NEAR(rates.flows.rate[0], 75, 1e-9);
  EXPECT_NEAR(rates.flows.rate[1], 6.25, 1e-9);
  EXPECT_NEAR(rates.class_load[1], 25, 1e-9);
}

TEST(ClassShares, UnusedCapacityGoesToTheOtherClassesByWeight) {
  Classes c{.flows = {}, .class_of = {0, 1, 2}, .weight = {3, 1, 2}, .count = 3};
  c.flows.capacity = {60};
  c.flows.add({0}, 1, 6);
  c.flows.add({0});
  c.flows.add({0});
  const ClassRates rates = class_shared_rates(c.problem(), kExact);
  EXPECT_NEAR(rates.flows.rate[0], 6, 1e-9);
  EXPECT_NEAR(rates.flows.rate[1], 18, 1e-9);
  EXPECT_NEAR(rates.flows.rate[2], 36, 1e-9);
}

// Two classes that wait for each other on two links with opposite weights: the solution is not unique, and budgets
// oscillate unless damped.
TEST(ClassShares, SettlesWhereClassesWaitForEachOther) {
  Classes c{.flows = {}, .class_of = {0, 1}, .weight = {3, 1, 1, 3}, .count = 2};
  c.flows.capacity = {4, 4};
  c.flows.add({0, 1});
  c.flows.add({0, 1});
  const ClassRates rates = class_shared_rates(c.problem(), kExact);
  EXPECT_TRUE(rates.settled);
  EXPECT_NEAR(rates.flows.load[0], 4, 1e-6);
}

TEST(ClassShares, SayHowManyRoundsWereComputedAndWhetherTheyWereEnough) {
  Classes c{.flows = {}, .class_of = {0, 1}, .weight = {3, 1, 1, 3}, .count = 2};
  c.flows.capacity = {4, 4};
  c.flows.add({0, 1});
  c.flows.add({0, 1});
  for (const unsigned most : {1U, 2U, 3U}) {
    const ClassRates rates = class_shared_rates(c.problem(), {.max_rounds = most, .tolerance = 1e-9});
    EXPECT_EQ(rates.rounds, most);
    EXPECT_FALSE(rates.settled);
  }
  EXPECT_LT(class_shared_rates(c.problem(), kExact).rounds, kExact.max_rounds);
}

TEST(ClassShares, DoNotDependOnEarlierProblems) {
  ClassShareSolver again;
  ClassRates rates;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Classes c = random_classes(seed);
    const ClassRates fresh = class_shared_rates(c.problem(), kExact);
    again.solve(c.problem(), rates, kExact);
    ASSERT_EQ(rates.flows.rate, fresh.flows.rate) << seed;
    ASSERT_EQ(rates.flows.bottleneck, fresh.flows.bottleneck) << seed;
    ASSERT_EQ(rates.flows.load, fresh.flows.load) << seed;
    ASSERT_EQ(rates.class_load, fresh.class_load) << seed;
  }
}

TEST(ClassShares, OneClassIsPlainMaxMin) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Classes c = random_classes(seed);
    std::ranges::fill(c.class_of, 0);
    const auto expected = testing::naive_water_filling(c.flows.problem());
    ASSERT_FALSE(expected.empty());
    const ClassRates rates = class_shared_rates(c.problem(), kExact);
    for (std::size_t f = 0; f < expected.size(); ++f) {
      ASSERT_NEAR(rates.flows.rate[f], expected[f], 1e-8 * (1 + expected[f])) << "seed " << seed;
    }
  }
}

// One flow per class on a single link chain is weighted max-min with the classes' weights.
TEST(ClassShares, AFlowPerClassIsWeightedMaxMin) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    OwnedFlows drawn = random_flows(seed, 10, 5);
    Classes c{.flows = {}, .class_of = {}, .weight = {}, .count = drawn.size()};
    c.flows.capacity = drawn.capacity;
    OwnedFlows plain;
    plain.capacity = drawn.capacity;
    for (std::size_t f = 0; f < drawn.size(); ++f) {
      const auto path = drawn.problem().path(f);
      const double w = 1 + static_cast<double>(random() % 5);
      c.flows.add({path.begin(), path.end()}, 1, drawn.cap[f]);
      plain.add({path.begin(), path.end()}, w, drawn.cap[f]);
      c.class_of.push_back(static_cast<std::uint8_t>(f));
      c.weight.push_back(w);
    }
    const auto expected = testing::naive_water_filling(plain.problem());
    const ClassRates rates = class_shared_rates(c.problem(), kExact);
    ASSERT_TRUE(rates.settled) << "seed " << seed;
    for (std::size_t f = 0; f < expected.size(); ++f) {
      ASSERT_NEAR(rates.flows.rate[f], expected[f], 1e-6 * (1 + expected[f])) << "seed " << seed << " flow " << f;
    }
  }
}

// No link exceeds its capacity; where budgets settled, every flow has a full link where it is among the fastest of its
// class and its class among those with the highest share per weight.
TEST(ClassShares, EveryFlowIsBottleneckedTwice) {
  unsigned settled = 0;
  constexpr std::uint64_t kCases = 2000;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Classes c = random_classes(seed);
    const FlowProblem p = c.flows.problem();
    const ClassRates rates = class_shared_rates(c.problem(), kExact);
    std::vector<double> load(p.capacity.size(), 0), by_class(p.capacity.size() * c.count, 0), most(by_class.size(), 0);
    for (std::size_t f = 0; f < c.flows.size(); ++f) {
      for (const auto l : p.path(f)) {
        const std::size_t i = l * c.count + c.class_of[f];
        load[l] += rates.flows.rate[f] * c.flows.members[f];
        by_class[i] += rates.flows.rate[f] * c.flows.members[f];
        most[i] = std::max(most[i], rates.flows.rate[f] / c.flows.weight[f]);
      }
    }
    for (std::size_t l = 0; l < load.size(); ++l) ASSERT_LE(load[l], p.capacity[l] * (1 + 1e-9)) << "seed " << seed;
    if (!rates.settled) continue;
    ++settled;
    for (std::size_t f = 0; f < c.flows.size(); ++f) {
      // Budgets settle to 1e-9 of a link's capacity, so a capped flow may end this close to its cap.
      if (rates.flows.rate[f] >= c.flows.cap[f] - 1e-6) continue;
      const bool bottlenecked = std::ranges::any_of(p.path(f), [&](std::uint32_t l) {
        const std::size_t own = l * c.count + c.class_of[f];
        const double scale = 1e-6 * (1 + p.capacity[l]);
        if (load[l] < p.capacity[l] - scale) return false;
        if (rates.flows.rate[f] / c.flows.weight[f] < most[own] - scale) return false;
        for (std::size_t k = 0; k < c.count; ++k) {
          if (by_class[l * c.count + k] / c.weight[k] > by_class[own] / c.weight[c.class_of[f]] + scale) return false;
        }
        return true;
      });
      ASSERT_TRUE(bottlenecked) << "seed " << seed << " flow " << f;
    }
  }
  EXPECT_GE(settled, kCases * 99 / 100);
}

}  // namespace
}  // namespace railweave::fabric
