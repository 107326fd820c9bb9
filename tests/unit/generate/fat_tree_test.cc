#include "fabric/generate/fat_tree.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "tests/unit/generate/fabric_measures.h"

namespace railweave::fabric::fat_tree_test {
namespace {

Topology made(std::string_view kind, const GenerateParameters& parameters) {
  auto topology = generate(kind, parameters);
  EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
  return std::move(topology).value();
}

bool in_first_half(const Topology& topology, HostId host) { return host.index() < topology.hosts().size() / 2; }

std::uint64_t power(std::uint64_t base, unsigned exponent) {
  std::uint64_t result = 1;
  while (exponent-- > 0) result *= base;
  return result;
}

TEST(FatTree, HasTheCountsOfAKAryNTree) {
  for (unsigned n = 1; n <= 3; ++n) {
    for (unsigned k = 2; k <= 6; ++k) {
      const auto topology =
          made("fat-tree", {{"arity", std::to_string(k)}, {"tiers", std::to_string(n)}, {"gpus-per-host", "1"}});
      SCOPED_TRACE(::testing::Message() << k << "-ary " << n << "-tree");
      EXPECT_EQ(topology.hosts().size(), power(k, n));
      EXPECT_EQ(topology.switches().size(), n * power(k, n - 1));
      EXPECT_EQ(topology.links().size(), n * power(k, n));  // one layer of links below every tier
      EXPECT_EQ(topology.tier_count(), n);
      EXPECT_EQ(diameter(topology), 2 * (n - 1));
      ASSERT_FALSE(topology.switches().empty());
      for (const auto sw : topology.switches()) {
        EXPECT_EQ(cabled_ports(topology, sw), topology.tier(sw) == n - 1 ? k : 2 * k) << topology.name(sw);
      }
      EXPECT_TRUE(topology.source_findings().empty());
    }
  }
}

TEST(FatTree, KAryTreesHaveFullBisection) {
  for (const auto& [k, n] : {std::pair(2, 3), std::pair(4, 2), std::pair(4, 3)}) {
    const auto topology =
        made("fat-tree", {{"arity", std::to_string(k)}, {"tiers", std::to_string(n)}, {"gpus-per-host", "1"}});
    EXPECT_EQ(bisection(topology, in_first_half), topology.hosts().size() / 2);
  }
}

TEST(FatTree, FromOneRadixHasTheCountsOfAlFares) {
  for (const unsigned radix : {4U, 8U, 12U}) {
    const unsigned hosts = radix * radix * radix / 4;
    const auto topology = made(
        "fat-tree",
        {{"radix", std::to_string(radix)}, {"tiers", "3"}, {"hosts", std::to_string(hosts)}, {"gpus-per-host", "1"}});
    EXPECT_EQ(topology.switches().size(), 5 * radix * radix / 4);
    EXPECT_EQ(topology.links().size(), 3 * hosts);
    EXPECT_EQ(diameter(topology), 4U);
    if (radix <= 8) {
      EXPECT_EQ(bisection(topology, in_first_half), hosts / 2);
    }
  }
}

TEST(FatTree, OversubscriptionDividesTheBisection) {
  struct Case {
    const char* ratio;
    unsigned down, up;
  };
  for (const auto& [ratio, down, up] : {Case{"1", 12, 12}, Case{"2", 16, 8}, Case{"3:1", 18, 6}, Case{"1.4", 14, 10}}) {
    SCOPED_TRACE(ratio);
    const auto topology = made(
        "fat-tree",
        {{"radix", "24"}, {"hosts", std::to_string(down * 4)}, {"gpus-per-host", "1"}, {"oversubscription", ratio}});
    unsigned leaves = 0;
    ASSERT_FALSE(topology.switches().empty());
    for (const auto sw : topology.switches()) {
      if (!topology.is_leaf(sw)) continue;
      ++leaves;
      EXPECT_EQ(cabled_ports(topology, sw), down + up);
    }
    EXPECT_EQ(leaves, 4U);
    EXPECT_EQ(bisection(topology, in_first_half), 2 * up);
  }
}

TEST(FatTree, ExplicitCountsAreKept) {
  const auto topology = made("fat-tree", {{"hosts", "60"},
                                          {"gpus-per-host", "0"},
                                          {"radix", "16"},
                                          {"tiers", "3"},
                                          {"down-ports", "10"},
                                          {"uplinks", "4"},
                                          {"spines", "2"},
                                          {"leaves-per-pod", "3"},
                                          {"spine-uplinks", "8"},
                                          {"cores", "8"}});
  ASSERT_EQ(topology.switches().size(), 6 + 4 + 8U);
  ASSERT_FALSE(switch_pairs(topology).empty());
  for (const auto& [pair, links] : switch_pairs(topology)) {
    const bool leaf_to_spine = topology.is_leaf(pair.first);
    EXPECT_EQ(links, 2U) << topology.name(pair.first) << ' ' << topology.name(pair.second);
    EXPECT_EQ(topology.tier(pair.second), leaf_to_spine ? 1 : 2);
    if (leaf_to_spine) {
      EXPECT_EQ(topology.group(pair.first), topology.group(pair.second));
    }
  }
  EXPECT_EQ(switch_pairs(topology).size(), 6 * 2 + 4 * 4U);
  EXPECT_TRUE(topology.gpus().empty());
}

TEST(FatTree, AllAdaptersOfAHostAreOnOneLeafPerPlane) {
  const auto topology = made("fat-tree", {{"hosts", "20"}, {"planes", "2"}, {"radix", "32"}});
  ASSERT_FALSE(topology.hosts().empty());
  for (const auto host : topology.hosts()) {
    const auto hcas = topology.hcas(host);
    ASSERT_EQ(hcas.size(), 8U);
    for (std::size_t n = 0; n < 8; ++n) {
      EXPECT_EQ(leaf_of(topology, hcas[n]), leaf_of(topology, hcas[n / 4 * 4]));
      EXPECT_EQ(topology.name(topology.subnet(leaf_of(topology, hcas[n]))), n < 4 ? "compute-0" : "compute-1");
    }
  }
}

TEST(FatTree, ErrorsOfImpossibleTreesHintAtPossibleOnes) {
  const auto error_of = [](const GenerateParameters& parameters) {
    const auto result = generate("fat-tree", parameters);
    return result ? Error{} : result.error();
  };
  EXPECT_EQ(error_of({{"hosts", "5000"}, {"gpus-per-host", "1"}}).kind, ErrorKind::impossible);  // two tiers hold 2,048
  EXPECT_NE(error_of({{"hosts", "5000"}, {"gpus-per-host", "1"}}).hint.find("3 tiers"), std::string::npos);
  const auto lids = error_of({{"hosts", "65536"}, {"tiers", "3"}, {"gpus-per-host", "1"}});
  EXPECT_EQ(lids.code, "generate.tooManyLids");
  EXPECT_NE(lids.message.find("49151"), std::string::npos) << lids.message;
  const auto planes = error_of({{"hosts", "8192"}, {"tiers", "3"}, {"radix", "128"}});
  EXPECT_NE(planes.hint.find("planes"), std::string::npos) << planes.text();
  EXPECT_TRUE(generate("fat-tree", {{"hosts", "65536"}, {"tiers", "3"}, {"gpus-per-host", "1"}, {"speed", "400G"}}));
  EXPECT_NE(error_of({{"spines", "7"}}).message.find("spread evenly"), std::string::npos);
  EXPECT_NE(error_of({{"hosts-per-leaf", "5"}}).message.find("do not fit"), std::string::npos);
  EXPECT_NE(error_of({{"radix", "8"}}).message.find("do not fit"), std::string::npos);  // 8 adapters, 4 down ports
  EXPECT_EQ(error_of({{"arity", "4"}, {"hosts", "17"}, {"gpus-per-host", "1"}}).kind, ErrorKind::impossible);
  EXPECT_EQ(error_of({{"planes", "3"}}).kind, ErrorKind::impossible);
  EXPECT_EQ(error_of({{"tiers", "1"}}).kind, ErrorKind::impossible);
}

}  // namespace
}  // namespace railweave::fabric::fat_tree_test
