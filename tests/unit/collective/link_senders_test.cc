// Residual capacities of links: by hand, against textbook water-filling of whole networks, and invariants.
#include "scheduler/collective/link_senders.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/unit/flow/naive_water_filling.h"

namespace railweave::scheduler::link_senders_test {
namespace {

constexpr double kPeriodUs = 1e6;  // of every sender: bytes of a step are its rate in bytes a second

LinkTraffic sends(const std::vector<LinkBytes>& links) {
  LinkTraffic traffic;
  traffic.groups[0].phases = {links};
  return traffic;
}
// Bytes of a step that give this mean rate.
double bytes_at(double mbps) { return mbps * kPeriodUs / 8; }

TEST(LinkSenders, TwoJobsShareOneLink) {
  LinkSenders senders(3);
  EXPECT_EQ(senders.residual_mbps(1, 400'000, 1), 400'000);
  senders.add(7, sends({{1, bytes_at(400'000), 1}}), kPeriodUs);
  EXPECT_EQ(senders.residual_mbps(1, 400'000, 1), 200'000) << "it would fill the link: half";
  EXPECT_EQ(senders.residual_mbps(1, 400'000, 3), 300'000) << "three flows beside one";
  EXPECT_EQ(senders.residual_mbps(0, 400'000, 1), 400'000) << "another link";
  EXPECT_EQ(senders.residual_mbps(1, 400'000, 1, 7), 400'000) << "its own flows do not count";
  senders.remove(7);
  senders.add(7, sends({{1, bytes_at(100'000), 1}}), kPeriodUs);
  EXPECT_EQ(senders.residual_mbps(1, 400'000, 1), 300'000) << "it sends a quarter of the time";
  senders.add(9, sends({{1, bytes_at(400'000), 1}}), kPeriodUs);
  EXPECT_EQ(senders.residual_mbps(1, 400'000, 1), 150'000) << "what the small one leaves is shared by two";
  EXPECT_EQ(senders.others_mbps(1), 500'000);
  EXPECT_EQ(senders.others_mbps(1, 9), 100'000);
  senders.remove(7);
  senders.remove(9);
  EXPECT_EQ(senders.residual_mbps(1, 400'000, 1), 400'000);
}

TEST(LinkSenders, PhasesFollowEachOtherAndFloorsCount) {
  const std::vector<double> capacity{100'000, 400'000};
  GroupLoad load{.phases = {{{0, 1e9, 1}, {1, 1e9, 1}}, {{1, 2e9, 1}}}};
  EXPECT_DOUBLE_EQ(phases_time(load, capacity, nullptr).us, 1e9 * 8 / 1e5 + 2e9 * 8 / 4e5);
  EXPECT_EQ(phases_time(load, capacity, nullptr).slowest, 0U);
  load.floor_us = 1e6;  // half a second of each
  EXPECT_DOUBLE_EQ(phases_time(load, capacity, nullptr).us, 1e6);
  EXPECT_EQ(phases_time(load, capacity, nullptr).slowest, UINT32_MAX);
  load.floor_us = 0;
  EXPECT_TRUE(std::isinf(phases_time(load, std::vector<double>{0, 1}, nullptr).us));
}

// A job of alike flows over several links, others on one link each: its slowest flow is the job's time.
struct Network {
  std::vector<double> capacity;
  std::vector<std::vector<std::uint32_t>> own;  // paths
  struct Other {
    std::uint64_t job;
    std::uint32_t link, flows;
    double mbps;
  };
  std::vector<Other> others;

  explicit Network(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (std::uint32_t l = 0; l < 3 + draw(6); ++l) capacity.push_back(1000.0 * (1 + draw(400)));
    const auto links = static_cast<std::uint32_t>(capacity.size());
    for (std::uint32_t f = 0; f < 1 + draw(8); ++f) {
      std::vector<std::uint32_t> path;
      for (std::uint32_t l = draw(2); l < links; l += 1 + draw(3)) path.push_back(l);
      own.push_back(path);
    }
    for (std::uint64_t job = 1; job < 1 + draw(30); ++job) {
      others.push_back({job, draw(links), 1 + draw(4), static_cast<double>(1 + draw(300'000))});
    }
  }
  [[nodiscard]] GroupLoad load(double bytes) const {
    GroupLoad load{.phases = {{}}};
    for (std::uint32_t l = 0; l < capacity.size(); ++l) {
      LinkBytes sum{l, 0, 0};
      for (const auto& path : own) {
        if (std::ranges::find(path, l) == path.end()) continue;
        sum.bytes += bytes;
        ++sum.flows;
      }
      if (sum.flows > 0) load.phases[0].push_back(sum);
    }
    return load;
  }
};

TEST(LinkSenders, AgreeWithWaterFilling) {
  constexpr double kBytes = 1e9;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Network net(seed);
    LinkSenders senders(net.capacity.size());
    std::vector<std::uint32_t> first{0}, links, members;
    std::vector<double> cap;
    for (const auto& path : net.own) {
      links.insert(links.end(), path.begin(), path.end());
      first.push_back(static_cast<std::uint32_t>(links.size()));
      members.push_back(1);
      cap.push_back(1e18);
    }
    for (const auto& other : net.others) {
      senders.add(other.job, sends({{other.link, bytes_at(other.mbps), other.flows}}), kPeriodUs);
      links.push_back(other.link);
      first.push_back(static_cast<std::uint32_t>(links.size()));
      members.push_back(other.flows);
      cap.push_back(other.mbps / other.flows);
    }
    const auto rates = fabric::testing::naive_water_filling(
        {.capacity = net.capacity, .first = first, .links = links, .cap = cap, .members = members});
    double slowest = 0;
    for (std::size_t f = 0; f < net.own.size(); ++f) {
      if (!net.own[f].empty()) slowest = std::max(slowest, kBytes * 8 / rates[f]);
    }
    EXPECT_NEAR(phases_time(net.load(kBytes), net.capacity, &senders).us, slowest, 1e-9 * slowest) << "seed " << seed;
  }
}

TEST(LinkSenders, MoreTrafficNeverMakesFasterAndNoneIsAlone) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Network net(seed);
    LinkSenders senders(net.capacity.size());
    const GroupLoad load = net.load(3e8);
    const double alone = phases_time(load, net.capacity, nullptr).us;
    EXPECT_EQ(phases_time(load, net.capacity, &senders).us, alone);
    double before = alone;
    for (const auto& other : net.others) {
      senders.add(other.job, sends({{other.link, bytes_at(other.mbps), other.flows}}), kPeriodUs);
      const double now = phases_time(load, net.capacity, &senders).us;
      EXPECT_GE(now, before * (1 - 1e-12)) << "seed " << seed;
      before = now;
    }
  }
}

TEST(LinkSenders, ResidualCapacityDoesNotDependOnTheOrderOfArrival) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Network net(seed);
    LinkSenders one(net.capacity.size()), two(net.capacity.size());
    for (const auto& other : net.others) {
      one.add(other.job, sends({{other.link, bytes_at(other.mbps), other.flows}}), kPeriodUs);
    }
    std::mt19937_64 random(seed);
    std::ranges::shuffle(net.others, random);
    for (const auto& other : net.others) {
      two.add(other.job, sends({{other.link, bytes_at(other.mbps) / 2, 1}}), kPeriodUs);
    }
    for (const auto& other : net.others) {
      two.remove(other.job);
      two.add(other.job, sends({{other.link, bytes_at(other.mbps), other.flows}}), kPeriodUs);
    }
    for (std::uint32_t l = 0; l < net.capacity.size(); ++l) {
      EXPECT_EQ(one.residual_mbps(l, net.capacity[l], 2), two.residual_mbps(l, net.capacity[l], 2));
    }
  }
}

TEST(LinkSenders, ASenderWithoutAPeriodSendsNothing) {
  LinkSenders senders(1);
  senders.add(1, sends({{0, 1e9, 1}}), 0);
  senders.add(2, sends({{0, 1e9, 1}}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(senders.residual_mbps(0, 1000, 1), 1000);
  EXPECT_EQ(senders.size(), 2U);
}

}  // namespace
}  // namespace railweave::scheduler::link_senders_test
