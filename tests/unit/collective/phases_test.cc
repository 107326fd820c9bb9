// Plans as data movement: which rank ends up with which data, and how many bytes each rank sends.
#include "scheduler/collective/phases.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace railweave::scheduler::phases_test {
namespace {

using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;

constexpr double kBytes = 1 << 20;

std::vector<std::uint32_t> domains(std::uint32_t ranks, std::uint32_t each) {
  std::vector<std::uint32_t> domain;
  for (std::uint32_t r = 0; r < ranks; ++r) domain.push_back(100 + r / each);
  return domain;
}

std::map<std::uint32_t, double> sent_by_rank(const PhasePlan& plan) {
  std::map<std::uint32_t, double> sent;
  for (const Phase& phase : plan.phases) {
    for (const RankFlow& flow : phase.flows) sent[flow.from] += flow.bytes * phase.repeats;
  }
  return sent;
}

// Everything that a rank can know after the plan, each repeat of a phase passing on all that its sender knew before.
std::vector<std::set<std::uint32_t>> known_after(const PhasePlan& plan) {
  std::vector<std::set<std::uint32_t>> known(plan.ranks);
  for (std::uint32_t r = 0; r < plan.ranks; ++r) known[r].insert(r);
  for (const Phase& phase : plan.phases) {
    const auto rounds = static_cast<unsigned>(std::lround(phase.repeats * phase.steps));
    for (unsigned round = 0; round < rounds; ++round) {
      const auto before = known;
      for (const RankFlow& flow : phase.flows)
        known[flow.to].insert(before[flow.from].begin(), before[flow.from].end());
    }
  }
  return known;
}

TEST(Phases, AfterAnAllReduceEveryRankKnowsOfEveryOther) {
  for (const std::uint32_t n : {2U, 3U, 4U, 8U, 12U, 16U, 31U, 64U}) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::halving_doubling,
                                      Algorithm::hierarchical, Algorithm::direct, Algorithm::parameter_server}) {
      const auto domain = domains(n, n % 4 == 0 ? 4 : 1);
      const auto plan =
          plan_phases({.algorithm = algorithm, .ranks = n, .bytes = kBytes, .domain_of_rank = domain, .servers = 2});
      if (algorithm == Algorithm::halving_doubling && (n & (n - 1)) != 0) {
        EXPECT_FALSE(plan);
        continue;
      }
      ASSERT_TRUE(plan) << plan.error().text();
      for (const auto& known : known_after(*plan)) {
        ASSERT_EQ(known.size(), n) << to_text(algorithm) << " of " << n;
      }
    }
  }
}

TEST(Phases, BandwidthOptimalOnesSendAsManyBytesAsTheBoundSays) {
  for (const std::uint32_t n : {2U, 4U, 8U, 32U, 128U}) {
    const double bound = 2.0 * (n - 1) / n * kBytes;
    const auto domain = domains(n, std::min(n, 8U));
    for (const Algorithm algorithm :
         {Algorithm::ring, Algorithm::halving_doubling, Algorithm::hierarchical, Algorithm::direct}) {
      const auto plan = plan_phases({.algorithm = algorithm, .ranks = n, .bytes = kBytes, .domain_of_rank = domain});
      ASSERT_TRUE(plan);
      for (const auto& [rank, sent] : sent_by_rank(*plan)) EXPECT_NEAR(sent, bound, 1e-6) << to_text(algorithm);
    }
    for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter}) {
      const auto plan = plan_phases({.kind = kind, .ranks = n, .bytes = kBytes});
      for (const auto& [rank, sent] : sent_by_rank(*plan)) EXPECT_NEAR(sent, bound / 2, 1e-6);
    }
  }
}

TEST(Phases, InTheDoubleTreeNoRankHasMoreThanTwiceTheVector) {
  for (std::uint32_t n = 2; n <= 200; ++n) {
    const auto plan = plan_phases({.algorithm = Algorithm::tree, .ranks = n, .bytes = kBytes});
    ASSERT_EQ(plan->phases.size(), 1U);
    const Phase& phase = plan->phases.front();
    EXPECT_EQ(phase.flows.size(), 4U * (n - 1));
    EXPECT_EQ(phase.steps, 2 * std::floor(std::log2(n)));
    for (const auto& [rank, sent] : sent_by_rank(*plan)) EXPECT_LE(sent, 2 * kBytes) << n;
  }
}

TEST(Phases, ServersReceiveAndReturnEverything) {
  const auto plan = plan_phases({.algorithm = Algorithm::parameter_server, .ranks = 10, .bytes = 100, .servers = 2});
  ASSERT_EQ(plan->phases.size(), 2U);
  const auto sent = sent_by_rank(*plan);
  EXPECT_DOUBLE_EQ(sent.at(9), 100);            // half to each server
  EXPECT_DOUBLE_EQ(sent.at(0), 50 + 50.0 * 9);  // half to the other server, then its half to every rank
}

TEST(Phases, RefuseUnsupportedCollectives) {
  EXPECT_EQ(plan_phases({.kind = Kind::all_to_all, .algorithm = Algorithm::ring, .ranks = 4}).error().code,
            "collectives.unsupported");
  EXPECT_FALSE(plan_phases({.algorithm = Algorithm::hierarchical, .ranks = 4}));
  const std::vector<std::uint32_t> uneven{0, 0, 0, 1};
  EXPECT_FALSE(plan_phases({.algorithm = Algorithm::hierarchical, .ranks = 4, .domain_of_rank = uneven}));
  EXPECT_FALSE(plan_phases({.kind = Kind::all_to_all, .algorithm = Algorithm::direct, .ranks = kMaxDirectRanks + 1}));
  EXPECT_FALSE(plan_phases({.algorithm = Algorithm::parameter_server, .ranks = 4, .servers = 5}));
  EXPECT_TRUE(plan_phases({.ranks = 1})->phases.empty());
}

}  // namespace
}  // namespace railweave::scheduler::phases_test
