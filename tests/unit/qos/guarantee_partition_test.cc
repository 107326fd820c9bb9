// Guarantee partitioning against brute force: what is sent inside the class, whatever is offered, stays inside the hose, and no rate
// could be larger without a smaller one shrinking.
#include "fabric/qos/guarantee_partition.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace railweave::fabric {
namespace {

struct Case {
  std::vector<std::int64_t> send, receive;
  std::vector<ActivePair> pairs;
};

Case random_case(std::mt19937_64& random) {
  const auto number = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  Case one;
  const auto ports = static_cast<std::size_t>(number(1, 9));
  for (std::size_t i = 0; i < ports; ++i) {
    one.send.push_back(number(0, 40));
    one.receive.push_back(number(0, 40));
  }
  for (std::uint32_t a = 0; a < ports; ++a) {
    for (std::uint32_t b = 0; b < ports; ++b) {
      if (number(0, 2) != 0) continue;
      one.pairs.push_back({a, b, number(0, 2) == 0 ? kUnlimitedMbps : number(0, 30)});
    }
  }
  return one;
}

std::int64_t sum_where(const Case& one, const std::vector<std::int64_t>& rates, bool of_sender, std::uint32_t port) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < one.pairs.size(); ++i) {
    if ((of_sender ? one.pairs[i].sender : one.pairs[i].receiver) == port) sum += rates[i];
  }
  return sum;
}

// A pair is held back at a port whose budget is used up (less than a unit each is left) and where no other pair has more than it,
// but for the unit that cannot be divided.
bool is_held_back(const Case& one, const std::vector<std::int64_t>& rates, std::size_t pair, bool at_sender) {
  const std::uint32_t port = at_sender ? one.pairs[pair].sender : one.pairs[pair].receiver;
  const std::int64_t budget = (at_sender ? one.send : one.receive)[port];
  if (sum_where(one, rates, at_sender, port) < budget) return false;
  for (std::size_t i = 0; i < one.pairs.size(); ++i) {
    const bool is_here = (at_sender ? one.pairs[i].sender : one.pairs[i].receiver) == port;
    if (is_here && rates[i] > rates[pair] + 1) return false;
  }
  return true;
}

TEST(GuaranteePartition, DividesOneBudgetFairly) {
  EXPECT_EQ(divide_guarantee(30, std::vector<std::int64_t>{kUnlimitedMbps, kUnlimitedMbps}),
            (std::vector<std::int64_t>{15, 15}));
  EXPECT_EQ(divide_guarantee(30, std::vector<std::int64_t>{kUnlimitedMbps, 4, kUnlimitedMbps}),
            (std::vector<std::int64_t>{13, 4, 13}))
      << "what one does not use goes to others";
  EXPECT_EQ(divide_guarantee(10, std::vector<std::int64_t>{3, 3}), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(divide_guarantee(2, std::vector<std::int64_t>{9, 9, 9}), (std::vector<std::int64_t>{1, 1, 0}));
  EXPECT_TRUE(divide_guarantee(10, {}).empty());
}

TEST(GuaranteePartition, DividesEveryBudgetWithinItself) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const std::int64_t budget = std::uniform_int_distribution<std::int64_t>(0, 60)(random);
    std::vector<std::int64_t> wanted(std::uniform_int_distribution<std::size_t>(0, 8)(random));
    for (auto& one : wanted) one = std::uniform_int_distribution<std::int64_t>(0, 25)(random);
    const auto parts = divide_guarantee(budget, wanted);
    // Unit by unit, always to the one that has least and wants more.
    std::vector<std::int64_t> oracle(wanted.size(), 0);
    for (std::int64_t unit = 0; unit < budget; ++unit) {
      std::size_t least = wanted.size();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (oracle[i] < wanted[i] && (least == wanted.size() || oracle[i] < oracle[least])) least = i;
      }
      if (least == wanted.size()) break;
      ++oracle[least];
    }
    auto sorted = parts, expected = oracle;
    std::ranges::sort(sorted);
    std::ranges::sort(expected);
    ASSERT_EQ(sorted, expected) << "round " << round;
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_LE(parts[i], wanted[i]);
  }
}

TEST(GuaranteePartition, StaysInsideTheHoseAndLeavesNothingUnused) {
  std::mt19937_64 random(18);
  std::size_t held_back = 0;
  for (int round = 0; round < 5'000; ++round) {
    const Case one = random_case(random);
    const auto rates = partition_guarantees(one.send, one.receive, one.pairs);
    ASSERT_EQ(rates.size(), one.pairs.size());
    for (std::uint32_t port = 0; port < one.send.size(); ++port) {
      ASSERT_LE(sum_where(one, rates, true, port), one.send[port]) << "sent by " << port << ", round " << round;
      ASSERT_LE(sum_where(one, rates, false, port), one.receive[port]) << "received by " << port << ", round " << round;
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      ASSERT_GE(rates[i], 0);
      ASSERT_LE(rates[i], one.pairs[i].wanted_mbps) << "a flow above its own rate, round " << round;
      if (rates[i] == one.pairs[i].wanted_mbps) continue;
      ++held_back;
      // Either a budget is used up by no one who has more, or what is left of it is less than a unit for each.
      const bool is_explained = is_held_back(one, rates, i, true) || is_held_back(one, rates, i, false);
      ASSERT_TRUE(is_explained) << "pair " << i << " could have more, round " << round;
    }
  }
  EXPECT_GT(held_back, 10'000U);
}

}  // namespace
}  // namespace railweave::fabric
