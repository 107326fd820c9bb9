#include "fabric/flow/max_min.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fabric/flow/merged_flows.h"
#include "tests/unit/flow/naive_water_filling.h"
#include "tests/unit/flow/random_flows.h"

namespace railweave::fabric {
namespace {

using testing::OwnedFlows;
using testing::random_flows;

constexpr std::uint64_t kCases = 3000;

TEST(MaxMin, SharesAsTheTextbookExample) {
  // Two links in line: one long flow, one on the first, two on the second.
  OwnedFlows flows;
  flows.capacity = {10, 9};
  flows.add({0, 1});
  flows.add({0});
  flows.add({1}, 1);
  flows.add({1}, 1);
  const FlowRates rates = max_min_rates(flows.problem());
  EXPECT_EQ(rates.rate, (std::vector<double>{3, 7, 3, 3}));
  EXPECT_EQ(rates.bottleneck, (std::vector<std::uint32_t>{1, 0, 1, 1}));
  EXPECT_EQ(rates.load, (std::vector<double>{10, 9}));
}

TEST(MaxMin, NamesTheBottleneckOfEveryFlow) {
  OwnedFlows flows;
  flows.capacity = {10, std::numeric_limits<double>::infinity(), 0};
  flows.add({0}, 1, 2);
  flows.add({0});
  flows.add({1});
  flows.add({});
  flows.add({0, 2});
  const FlowRates rates = max_min_rates(flows.problem());
  EXPECT_EQ(rates.rate[0], 2);
  EXPECT_EQ(rates.bottleneck[0], FlowRates::kOwnCap);
  EXPECT_EQ(rates.rate[1], 8);
  EXPECT_EQ(rates.bottleneck[1], 0U);
  EXPECT_TRUE(std::isinf(rates.rate[2]));
  EXPECT_EQ(rates.bottleneck[2], FlowRates::kUnbounded);
  EXPECT_TRUE(std::isinf(rates.rate[3]));
  EXPECT_EQ(rates.rate[4], 0);
  EXPECT_EQ(rates.bottleneck[4], 2U);
}

TEST(MaxMin, NoFlowsHaveNoRates) {
  EXPECT_TRUE(max_min_rates({}).rate.empty());
  const std::vector<double> capacity{5};
  EXPECT_EQ(max_min_rates({.capacity = capacity}).load, (std::vector<double>{0}));
}

TEST(MaxMin, EqualsNaiveWaterFilling) {
  MaxMinSolver solver;  // the same for all problems: none may affect the next
  FlowRates rates;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const OwnedFlows flows = random_flows(seed);
    solver.solve(flows.problem(), rates);
    const std::vector<double> expected = testing::naive_water_filling(flows.problem());
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(rates.rate.size(), expected.size());
    for (std::size_t f = 0; f < expected.size(); ++f) {
      ASSERT_NEAR(rates.rate[f], expected[f], 1e-9 * std::max(1.0, expected[f])) << "seed " << seed << " flow " << f;
    }
  }
}

// Every flow is at its cap or crosses a full link on which no flow has more per unit of weight; no link exceeds its
// capacity.
TEST(MaxMin, EveryFlowHasABottleneck) {
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const OwnedFlows flows = random_flows(seed, 60, 300);
    const FlowProblem p = flows.problem();
    const FlowRates rates = max_min_rates(p);
    std::vector<double> load(p.capacity.size(), 0), most(p.capacity.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const auto l : p.path(f)) {
        load[l] += rates.rate[f] * flows.members[f];
        most[l] = std::max(most[l], rates.rate[f] / flows.weight[f]);
      }
    }
    for (std::size_t l = 0; l < load.size(); ++l) {
      ASSERT_LE(load[l], p.capacity[l] * (1 + 1e-9) + 1e-9) << "seed " << seed;
      ASSERT_NEAR(load[l], rates.load[l], 1e-9 * std::max(1.0, load[l]));
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const std::uint32_t l = rates.bottleneck[f];
      if (l == FlowRates::kOwnCap) {
        ASSERT_EQ(rates.rate[f], flows.cap[f]);
        continue;
      }
      ASSERT_LT(l, load.size()) << "seed " << seed;
      ASSERT_NE(std::ranges::find(p.path(f), l), p.path(f).end());
      ASSERT_NEAR(load[l], p.capacity[l], 1e-9 * std::max(1.0, p.capacity[l])) << "seed " << seed;
      ASSERT_NEAR(rates.rate[f] / flows.weight[f], most[l], 1e-9 * std::max(1.0, most[l])) << "seed " << seed;
    }
  }
}

// More capacity may lower the rate of a single flow (another passes its bottleneck), but not the sorted rates: the
// first that differs is higher.
TEST(MaxMin, MoreCapacityNeverLowersTheSortedRates) {
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    OwnedFlows flows = random_flows(seed);
    std::ranges::fill(flows.weight, 1);
    auto before = max_min_rates(flows.problem()).rate;
    flows.capacity[seed % flows.capacity.size()] *= 1.5;
    auto after = max_min_rates(flows.problem()).rate;
    std::ranges::sort(before);
    std::ranges::sort(after);
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_GE(after[i], before[i] * (1 - 1e-9)) << "seed " << seed;
      if (after[i] > before[i] * (1 + 1e-9)) break;
    }
  }
}

TEST(MaxMin, OrderOfFlowsAndLinksDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const OwnedFlows flows = random_flows(seed);
    OwnedFlows turned;
    const auto links = static_cast<std::uint32_t>(flows.capacity.size());
    turned.capacity.assign(flows.capacity.rbegin(), flows.capacity.rend());
    for (std::size_t f = flows.size(); f-- > 0;) {
      std::vector<std::uint32_t> path;
      for (const auto l : flows.problem().path(f)) path.push_back(links - 1 - l);
      turned.add(path, flows.weight[f], flows.cap[f], flows.members[f]);
    }
    const auto one = max_min_rates(flows.problem()).rate, other = max_min_rates(turned.problem()).rate;
    for (std::size_t f = 0; f < one.size(); ++f) ASSERT_NEAR(one[f], other[one.size() - 1 - f], 1e-9 * (1 + one[f]));
  }
}

TEST(MergedFlows, GetTheSameRatesAsSeparateFlows) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const OwnedFlows some = random_flows(seed, 8, 10);
    std::mt19937_64 random(seed);
    OwnedFlows many;
    many.capacity = some.capacity;
    std::vector<std::uint32_t> kind;
    for (int i = 0; i < 200; ++i) {
      const std::size_t f = random() % some.size();
      const auto path = some.problem().path(f);
      many.add({path.begin(), path.end()}, some.weight[f], some.cap[f]);
      kind.push_back(static_cast<std::uint32_t>(f));
    }
    const MergedFlows merged = merge_flows(many.first, many.links, kind);
    EXPECT_LE(merged.members.size(), some.size());
    std::vector<double> weight(merged.members.size()), cap(merged.members.size());
    for (std::size_t f = 0; f < many.size(); ++f) {
      weight[merged.merged_of[f]] = many.weight[f];
      cap[merged.merged_of[f]] = many.cap[f];
    }
    const auto apart = max_min_rates(many.problem());
    const auto together = max_min_rates({.capacity = many.capacity,
                                         .first = merged.first,
                                         .links = merged.links,
                                         .weight = weight,
                                         .cap = cap,
                                         .members = merged.members});
    for (std::size_t f = 0; f < many.size(); ++f) {
      ASSERT_NEAR(apart.rate[f], together.rate[merged.merged_of[f]], 1e-9 * (1 + apart.rate[f])) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace railweave::fabric
