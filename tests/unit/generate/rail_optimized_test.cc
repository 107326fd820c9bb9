#include <map>
#include <set>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "tests/unit/generate/fabric_measures.h"

namespace railweave::fabric::rail_optimized_test {
namespace {

Topology made(std::string_view kind, const GenerateParameters& parameters) {
  auto topology = generate(kind, parameters);
  EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
  return std::move(topology).value();
}

TEST(RailOptimized, EveryGpuHasItsNicOnItsRail) {
  const auto topology = made("rail-optimized", {{"hosts", "70"}, {"hosts-per-unit", "20"}});
  ASSERT_EQ(topology.rails().size(), 8U);
  EXPECT_FALSE(topology.rails_inferred());
  EXPECT_EQ(topology.rail_confidence(), 1);
  ASSERT_FALSE(topology.gpus().empty());
  for (const auto gpu : topology.gpus()) {
    ASSERT_EQ(topology.nics(gpu).size(), 1U);
    const HcaId nic = topology.nics(gpu).front();
    EXPECT_EQ(topology.host(nic), topology.host(gpu));
    EXPECT_EQ(topology.rail(topology.ports(nic).front()).index(), topology.local_index(gpu));
    EXPECT_EQ(topology.device(nic), "mlx5_" + std::to_string(topology.local_index(gpu)));
  }
}

TEST(RailOptimized, HasOneLeafPerRailAndUnit) {
  const auto topology = made("rail-optimized", {{"hosts", "70"}, {"hosts-per-unit", "20"}});
  std::map<SwitchId, std::set<std::pair<std::size_t, RailId>>> on_leaf;  // (unit, rail)
  for (const auto host : topology.hosts()) {
    for (const auto hca : topology.hcas(host)) {
      on_leaf[leaf_of(topology, hca)].emplace(host.index() / 20, topology.rail(topology.ports(hca).front()));
    }
  }
  EXPECT_EQ(on_leaf.size(), 4 * 8U);
  ASSERT_FALSE(on_leaf.empty());
  for (const auto& [leaf, units_and_rails] : on_leaf) EXPECT_EQ(units_and_rails.size(), 1U) << topology.name(leaf);
  EXPECT_EQ(diameter(topology), 2U);
}

TEST(RailOptimized, PlanesSeparateRails) {
  const auto topology =
      made("rail-optimized", {{"hosts", "64"}, {"rails", "4"}, {"gpus-per-host", "8"}, {"planes", "4"}});
  EXPECT_EQ(topology.subnets().size(), 4U);
  ASSERT_FALSE(topology.hca_ports().empty());
  for (const auto port : topology.hca_ports()) {
    EXPECT_EQ(topology.subnet(port).value(), topology.rail(port).value());
  }
  ASSERT_FALSE(switch_pairs(topology).empty());
  for (const auto& [pair, links] : switch_pairs(topology)) {
    EXPECT_EQ(topology.subnet(pair.first), topology.subnet(pair.second));
  }
  ASSERT_FALSE(topology.gpus().empty());
  // Two neighbouring GPUs share an adapter.
  for (const auto gpu : topology.gpus()) {
    EXPECT_EQ(topology.rail(topology.ports(topology.nics(gpu).front()).front()).index(), topology.local_index(gpu) / 2);
  }
}

TEST(RailOptimized, ThreeTiersNeverSplitAUnitBetweenPods) {
  const auto topology = made("rail-optimized", {{"hosts", "100"},
                                                {"rails", "4"},
                                                {"gpus-per-host", "4"},
                                                {"radix", "16"},
                                                {"tiers", "3"},
                                                {"hosts-per-unit", "8"}});
  EXPECT_EQ(topology.tier_count(), 3U);
  EXPECT_EQ(diameter(topology), 4U);
  ASSERT_FALSE(topology.hosts().empty());
  for (const auto host : topology.hosts()) {
    std::set<std::string_view> pods;
    for (const auto hca : topology.hcas(host)) pods.insert(topology.group(leaf_of(topology, hca)));
    EXPECT_EQ(pods.size(), 1U) << topology.name(host);
  }
}

TEST(RailOptimized, TheDemoFabricsHaveTheCountsOfTheirNames) {
  const auto hgx = made("demo-hgx", {});
  EXPECT_EQ(hgx.hosts().size(), 128U);
  EXPECT_EQ(hgx.gpus().size(), 1024U);
  EXPECT_EQ(hgx.rails().size(), 8U);
  EXPECT_EQ(hgx.nvlink_domains().size(), 128U);
  const auto nvl = made("demo-nvl72", {});
  EXPECT_EQ(nvl.racks().size(), 8U);
  EXPECT_EQ(nvl.gpus().size(), 8 * 72U);
  EXPECT_EQ(nvl.nvlink_domains().size(), 8U);
  const auto both = made("demo", {});
  EXPECT_EQ(both.hosts().size(), hgx.hosts().size() + nvl.hosts().size());
  EXPECT_EQ(both.links().size(), hgx.links().size() + nvl.links().size());
  EXPECT_TRUE(both.source_findings().empty());
}

TEST(RailOptimized, AHundredThousandGpusFitTheirLids) {
  const auto topology = made("gpus-100k", {});
  EXPECT_EQ(topology.hosts().size(), 12'800U);
  EXPECT_EQ(topology.gpus().size(), 102'400U);
  EXPECT_EQ(topology.hcas().size(), 102'400U);
  EXPECT_EQ(topology.subnets().size(), 8U);
  EXPECT_EQ(topology.tier_count(), 3U);
  EXPECT_TRUE(topology.source_findings().empty());
  std::vector<std::size_t> lids(8);
  for (const auto sw : topology.switches()) ++lids[topology.subnet(sw).index()];
  for (const auto port : topology.hca_ports()) ++lids[topology.subnet(port).index()];
  for (const auto count : lids) EXPECT_LE(count, 49'151U);
  const auto together = generate("gpus-100k", {{"planes", "1"}, {"radix", "256"}});
  ASSERT_FALSE(together.has_value());
  EXPECT_EQ(together.error().code, "generate.tooManyLids");
  EXPECT_NE(together.error().hint.find("planes"), std::string::npos);
}

TEST(RailOnly, HasNoLinksBetweenSwitchesAndASubnetPerRail) {
  const auto topology = made("rail-only", {{"hosts", "48"}});
  EXPECT_EQ(topology.switches().size(), 8U);
  EXPECT_EQ(topology.subnets().size(), 8U);
  EXPECT_TRUE(switch_pairs(topology).empty());
  ASSERT_FALSE(topology.hca_ports().empty());
  for (const auto port : topology.hca_ports()) {
    EXPECT_EQ(topology.rail(port).value(), topology.subnet(port).value());
  }
  const auto too_many = generate("rail-only", {{"hosts", "65"}});
  ASSERT_FALSE(too_many.has_value());
  EXPECT_NE(too_many.error().hint.find("rail-optimized"), std::string::npos);
}

TEST(RailOptimized, UnitsHoldWholeRacksAndDomains) {
  const auto topology = made("rail-optimized", {{"hosts", "288"}, {"nvlink-domain", "576"}});
  std::map<RackId, std::set<SwitchId>> leaves_of_rack;
  for (const auto host : topology.hosts()) {
    leaves_of_rack[topology.rack(host)].insert(leaf_of(topology, topology.hcas(host).front()));
  }
  EXPECT_EQ(leaves_of_rack.size(), 16U);
  ASSERT_FALSE(leaves_of_rack.empty());
  for (const auto& [rack, leaves] : leaves_of_rack) EXPECT_EQ(leaves.size(), 1U) << topology.name(rack);
}

}  // namespace
}  // namespace railweave::fabric::rail_optimized_test
