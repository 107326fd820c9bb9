// What roles exchange: who sends to whom, and what that puts on bundles and on the links of routes, against sums over all pairs.
#include "scheduler/collective/role_flows.h"

#include <map>

#include <gtest/gtest.h>

#include "routed_fabric.h"
#include "scheduler/collective/placement_cost.h"
#include "scheduler/collective/routed_traffic.h"

namespace railweave::scheduler::role_flows_test {
namespace {

using fabric::GpuId;

TrafficSpec with_peer(std::vector<GpuId> gpus, double bytes, RoleSpread spread, bool sends) {
  TrafficSpec traffic;
  traffic.roles = {bytes, 1};
  traffic.peers = {{{.job = 2, .role = "other", .sends = sends, .bytes = bytes, .spread = spread}, std::move(gpus)}};
  return traffic;
}

TEST(RoleFlows, AllBytesPassAndEveryRankHasItsShare) {
  for (const std::size_t ranks : {1U, 3U, 8U}) {
    for (const std::size_t others : {1U, 2U, 8U, 11U}) {
      for (const auto spread : {RoleSpread::all_to_all, RoleSpread::by_rank}) {
        const auto traffic = with_peer(std::vector<GpuId>(others, GpuId(0)), 1e9, spread, others % 2 == 0);
        const auto flows = role_flows(ranks, traffic);
        ASSERT_EQ(flows.size(), spread == RoleSpread::all_to_all ? ranks * others : std::max(ranks, others));
        EXPECT_EQ(static_cast<double>(flows.size()), role_flow_count(ranks, traffic));
        double sum = 0;
        std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs;
        for (const auto& flow : flows) {
          const auto own = others % 2 == 0 ? flow.from : flow.to, other = others % 2 == 0 ? flow.to : flow.from;
          EXPECT_LT(own, ranks);
          ASSERT_GE(other, ranks);
          EXPECT_LT(other, ranks + others);
          if (spread == RoleSpread::by_rank) {
            EXPECT_EQ(own % std::min(ranks, others), (other - ranks) % std::min(ranks, others));
          }
          EXPECT_EQ(++pairs[std::pair(own, other)], 1);
          sum += flow.bytes;
        }
        EXPECT_NEAR(sum, 1e9, 1);
      }
    }
  }
}

// Of more pairs than are listed, every rank of both sides has as many as any other.
TEST(RoleFlows, OfManyPairsSomeAreTakenEvenly) {
  constexpr std::size_t kRanks = 512, kOthers = 256;
  const auto flows =
      role_flows(kRanks, with_peer(std::vector<GpuId>(kOthers, GpuId(0)), 1e9, RoleSpread::all_to_all, true));
  ASSERT_EQ(flows.size(), kMaxRoleFlows);
  std::map<std::uint32_t, std::size_t> sent, received;
  for (const auto& flow : flows) {
    ++sent[flow.from];
    ++received[flow.to];
  }
  EXPECT_EQ(sent.size(), kRanks);
  EXPECT_EQ(received.size(), kOthers);
  for (const auto& [rank, count] : sent) EXPECT_EQ(count, kMaxRoleFlows / kRanks) << rank;
  for (const auto& [rank, count] : received) EXPECT_EQ(count, kMaxRoleFlows / kOthers) << rank;
}

TEST(RoleFlows, OnRoutesEveryLinkHasTheBytesOfThePairsThatCrossIt) {
  const auto& on = testing::tree();
  const GpuGeneration& generation = *find_generation("H100");
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto all = on.shuffled(24, seed);
    const std::vector<GpuId> own(all.begin(), all.begin() + 8), other(all.begin() + 8, all.end());
    const auto spread = seed % 2 == 0 ? RoleSpread::all_to_all : RoleSpread::by_rank;
    const bool sends = seed % 3 == 0;
    const TrafficSpec traffic = with_peer(other, 4e9, spread, sends);
    const Parallelism p{.data = 8};
    PlacementCostModel model(on.bundles, generation);
    LinkTraffic bundled;
    const auto cost = model.predict(own, p, traffic, on.bundle_capacity, {}, &bundled);
    ASSERT_GT(cost.of(CommGroup::roles).time_us, 0);
    const RoutedTrafficInput in{.topology = *on.topology,
                                .walker = on.walker,
                                .ports = on.ports,
                                .bundles = on.bundles,
                                .bundle_mbps = on.bundle_capacity};
    const LinkTraffic routed = routed_traffic(in, own, p, traffic, generation, bundled);
    std::map<std::uint32_t, double> wanted;
    const auto pass = [&](GpuId from, GpuId to, double bytes) {
      if (on.topology->host(from) == on.topology->host(to)) return;
      if (on.bundles.place(from).unit == on.bundles.place(to).unit) return;
      std::vector<fabric::DirectedLink> links;
      ASSERT_TRUE(on.walker.append({on.ports.of(from).front(), on.ports.of(to).front()}, links));
      for (const auto link : links) wanted[link] += bytes / generation.constants.network_efficiency;
    };
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (std::size_t j = 0; j < other.size(); ++j) {
        if (spread == RoleSpread::by_rank && j % own.size() != i) continue;
        const double bytes =
            4e9 / static_cast<double>(spread == RoleSpread::by_rank ? other.size() : own.size() * other.size());
        pass(sends ? own[i] : other[j], sends ? other[j] : own[i], bytes);
      }
    }
    const auto& phases = routed.groups[static_cast<std::size_t>(CommGroup::roles)].phases;
    ASSERT_EQ(phases.size(), 1U);
    ASSERT_EQ(phases.front().size(), wanted.size()) << "seed " << seed;
    for (const LinkBytes& on_link : phases.front())
      EXPECT_NEAR(on_link.bytes, wanted[on_link.link], 1) << "seed " << seed;
    for (std::size_t g = 0; g + 1 < kCommGroups; ++g) EXPECT_TRUE(routed.groups[g].phases.empty());
  }
}

}  // namespace
}  // namespace railweave::scheduler::role_flows_test
