#include "fabric/topology/checks/checks.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "fabric/topology/topology_builder.h"
#include "tests/unit/topology/small_fabric.h"

namespace railweave::fabric::checks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Finding> with_code(const Topology& topology, std::string_view code) {
  auto findings = check_fabric(topology);
  std::erase_if(findings, [&](const Finding& finding) { return finding.code != code; });
  return findings;
}

std::vector<std::string> objects(const Topology& topology, std::string_view code) {
  std::vector<std::string> all;
  for (const auto& finding : with_code(topology, code))
    all.insert(all.end(), finding.objects.begin(), finding.objects.end());
  return all;
}

// Two rail units of `hosts` hosts on four leaves each, two links from every leaf to each of three spines.
SmallFabric railed(int hosts) {
  SmallFabric fabric;
  for (const std::string unit : {"a", "b"}) {
    for (int h = 1; h <= hosts; ++h) {
      for (int r = 0; r < 4; ++r) {
        fabric.plug("dgx-" + unit + std::to_string(h), "mlx5_" + std::to_string(r), "leaf-" + unit + std::to_string(r));
      }
    }
    for (int r = 0; r < 4; ++r) {
      for (int spine = 0; spine < 3; ++spine) {
        fabric.join("leaf-" + unit + std::to_string(r), "spine-" + std::to_string(spine), 2);
      }
    }
  }
  return fabric;
}

TEST(Checks, GeneratedFabricsHaveNothingWrong) {
  for (const std::string kind : {"fat-tree", "rail-optimized", "rail-only", "dragonfly", "dragonfly-plus", "torus",
                                 "demo", "demo-nvl72", "gpus-100k"}) {
    const auto topology = generate(kind, {});
    ASSERT_TRUE(topology.has_value());
    ASSERT_FALSE(check_fabric(*topology).empty());
    for (const auto& finding : check_fabric(*topology)) {
      EXPECT_EQ(finding.severity, Severity::info) << kind << ": " << finding.code << ": " << finding.message;
    }
  }
  const auto storage = generate("rail-optimized", {{"hosts", "100"}, {"storage-servers", "30"}});
  ASSERT_TRUE(storage.has_value());
  ASSERT_FALSE(check_fabric(*storage).empty());
  for (const auto& finding : check_fabric(*storage)) EXPECT_EQ(finding.severity, Severity::info) << finding.message;
}

TEST(Checks, NameTiersAndRails) {
  const auto topology = railed(5).build();
  const auto tiers = with_code(topology, "tiersFound");
  ASSERT_EQ(tiers.size(), 1U);
  EXPECT_EQ(tiers.front().message, "2 tiers of switches: 8 on tier 0, 3 on tier 1");
  const auto rails = with_code(topology, "railsInferred");
  ASSERT_EQ(rails.size(), 1U);
  EXPECT_THAT(rails.front().message, HasSubstr("4 rails inferred from the cabling; 100.0%"));
  EXPECT_THAT(rails.front().objects, ElementsAre("rail-0", "rail-1", "rail-2", "rail-3"));
}

TEST(Checks, NameHostsShortOfARailAndNoOthers) {
  auto fabric = railed(5);
  for (const int r : {0, 1, 3}) {
    fabric.plug("dgx-b6", "mlx5_" + std::to_string(r), "leaf-b" + std::to_string(r));
    fabric.plug("dgx-b7", "mlx5_" + std::to_string(r), "leaf-b" + std::to_string(r));
  }
  fabric.plug("dgx-a9", "mlx5_0", "leaf-a0");  // one of four, but its family has all
  fabric.plug("ubuntu", "mlx5_0", "leaf-a2");  // two of four, and no family
  fabric.plug("ubuntu", "mlx5_1", "leaf-a3");
  fabric.plug("ufm", "mlx5_0", "leaf-a0", HostKind::management);
  fabric.plug("0123456789abcdef", "", "leaf-a1", HostKind::unnamed);
  const auto topology = fabric.build();
  const auto findings = with_code(topology, "hostShortOfRail");
  ASSERT_EQ(findings.size(), 2U);  // one per set of missing rails
  EXPECT_THAT(objects(topology, "hostShortOfRail"), ::testing::UnorderedElementsAre("dgx-a9", "dgx-b6", "dgx-b7"));
  EXPECT_THAT(findings.back().message, HasSubstr("2 hosts have no port on rail-2"));
  EXPECT_EQ(summarize(topology).hosts_short_of_rail, 3U);
}

TEST(Checks, AWholeUnitWithoutALeafLacksTheRail) {
  SmallFabric fabric;
  for (const std::string unit : {"a", "b", "c"}) {
    for (int h = 1; h <= 4; ++h) {
      for (int r = 0; r < 4; ++r) {
        if (unit == "b" && r == 2) continue;
        fabric.plug("dgx-" +
                        std::string(unit == "a"   ? "01"
                                    : unit == "b" ? "02"
                                                  : "03") +
                        "-c0" + std::to_string(h),
                    "mlx5_" + std::to_string(r), "leaf-" + unit + std::to_string(r));
      }
    }
    for (int r = 0; r < 4; ++r) {
      if (unit != "b" || r != 2) fabric.join("leaf-" + unit + std::to_string(r), "spine");
    }
  }
  const auto topology = fabric.build();
  EXPECT_THAT(objects(topology, "hostShortOfRail"),
              ElementsAre("dgx-02-c01", "dgx-02-c02", "dgx-02-c03", "dgx-02-c04"));
}

TEST(Checks, ClustersWithSeparateRailsAreNotCompared) {
  TopologyBuilder builder;
  ASSERT_TRUE(generate_into({"demo", {}}, builder));
  // A host of the eight-rail cluster without its last two adapters' cables is made by leaving one rail's name away.
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(topology->rails().size(), 12U);
  EXPECT_EQ(summarize(*topology).hosts_short_of_rail, 0U);
}

TEST(Checks, SwappedCablesAreNamed) {
  auto fabric = railed(6);
  const std::vector<int> swapped{0, 1, 3, 2};
  for (int r = 0; r < 4; ++r) {
    fabric.plug("dgx-b9", "mlx5_" + std::to_string(r), "leaf-b" + std::to_string(swapped[static_cast<std::size_t>(r)]));
  }
  const auto topology = fabric.build();
  const auto findings = with_code(topology, "adapterOnOddRail");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().objects.size(), 2U);
  EXPECT_THAT(findings.front().message, HasSubstr("dgx-b9 mlx5_2 is on rail-3 and not on rail-2"));
  EXPECT_THAT(with_code(topology, "portsCrossed").front().message,
              HasSubstr("host dgx-b9: the cables of mlx5_2 port 1 and mlx5_3 port 1 are crossed"));
}

// As with one dual-port adapter for both rails: which port is on which rail says that the cables of one host are crossed.
TEST(Checks, CrossedPortsOfOneAdapterAreNamedWithTheFix) {
  for (const unsigned odd : {5U, 8U}) {  // 8: no host
    TopologyBuilder builder;
    const auto cable = infiniband_link(4, LinkSpeed::hdr);
    const auto rail0 = builder.add_switch({.guid = Guid(0x100), .name = "sw0", .ports = 40});
    const auto rail1 = builder.add_switch({.guid = Guid(0x101), .name = "sw1", .ports = 40});
    for (unsigned n = 0; n < 8; ++n) {
      const auto hca = builder.add_hca({.guid = Guid(0x1000 + 16 * n),
                                        .host = builder.host("n" + std::to_string(n)),
                                        .device = "mlx5_0",
                                        .ports = 2});
      builder.connect({rail0, n + 1}, {hca, n == odd ? 2U : 1U}, cable);
      builder.connect({rail1, n + 1}, {hca, n == odd ? 1U : 2U}, cable);
    }
    const auto topology = std::move(builder).build().value();
    ASSERT_EQ(topology.rails().size(), 2U);
    const auto crossed = with_code(topology, "portsCrossed");
    EXPECT_EQ(crossed.size(), odd < 8 ? 1U : 0U);
    if (crossed.empty()) {
      EXPECT_TRUE(with_code(topology, "adapterOnOddRail").empty());
      continue;
    }
    const std::string& text = crossed.front().message;
    EXPECT_THAT(text, HasSubstr("host n5"));
    EXPECT_THAT(text, HasSubstr("mlx5_0 port 1 is on rail-1, mlx5_0 port 2 on rail-0"));
    EXPECT_THAT(text, HasSubstr("exchange their ends at sw1 port 6 and sw0 port 6"));
    EXPECT_THAT(crossed.front().objects, ElementsAre("0000000000001050/1", "0000000000001050/2"));
  }
}

TEST(Checks, NameLeavesAndSpinesThatLackLinks) {
  SmallFabric fabric;
  for (int leaf = 0; leaf < 6; ++leaf) {
    const std::string name = "leaf-" + std::to_string(leaf);
    for (int h = 0; h < 4; ++h) fabric.plug("n" + std::to_string(leaf * 4 + h), "mlx5_0", name);
    for (int spine = 0; spine < 4; ++spine) {
      if (leaf == 2 && spine == 3) continue;                          // no link at all
      const bool one_short = (leaf == 4 && spine == 1) || leaf == 5;  // one of two; leaf-5 to every spine
      fabric.join(name, "spine-" + std::to_string(spine), one_short ? 1 : 2);
    }
  }
  const auto topology = fabric.build();
  const auto leaves = with_code(topology, "leafShortOfUplinks");
  ASSERT_EQ(leaves.size(), 1U);
  EXPECT_THAT(leaves.front().objects, ElementsAre("leaf-2", "leaf-4", "leaf-5"));
  EXPECT_THAT(leaves.front().message, HasSubstr("leaf-2 by 2, leaf-4 by 1, leaf-5 by 4"));
  EXPECT_THAT(objects(topology, "spineShortOfLinks"), ElementsAre("spine-1", "spine-3"));
}

TEST(Checks, PodsOfDifferentSizesLackNothing) {
  const auto topology = generate("rail-optimized", {{"hosts", "100"},
                                                    {"rails", "4"},
                                                    {"gpus-per-host", "4"},
                                                    {"radix", "16"},
                                                    {"tiers", "3"},
                                                    {"hosts-per-unit", "8"}});
  ASSERT_TRUE(topology.has_value());
  EXPECT_THAT(with_code(*topology, "leafShortOfUplinks"), IsEmpty());
  EXPECT_THAT(with_code(*topology, "spineShortOfLinks"), IsEmpty());
}

TEST(Checks, NameSlowLinksByClass) {
  auto fabric = railed(3);
  fabric.plug("dgx-a9", "mlx5_0", "leaf-a0", HostKind::compute, infiniband_link(4, LinkSpeed::hdr));
  fabric.join("leaf-a0", "spine-0", 1, infiniband_link(1, LinkSpeed::ndr));
  fabric.join("leaf-a0", "spine-1", 1, infiniband_link(4, LinkSpeed::unknown));  // not known is not slow
  fabric.join("leaf-a0", "spine-2", 1, infiniband_link(4, LinkSpeed::xdr));      // nor is faster
  const auto topology = fabric.build();
  const auto findings = with_code(topology, "linkSlowerThanClass");
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].objects.size(), 1U);
  EXPECT_EQ(findings[1].objects.size(), 1U);
  EXPECT_THAT(findings[0].message, HasSubstr("1 link between switches slower than the 400 Gb/s"));
  EXPECT_THAT(findings[1].message, HasSubstr("1 link to hosts slower than the 400 Gb/s"));
  EXPECT_EQ(topology.rate(topology.find_link(findings[1].objects.front())), from_gbps(200));
}

TEST(Checks, LinksWithinATierAreAWarningWhereTheyAreTheException) {
  auto fabric = railed(3);
  fabric.join("leaf-a0", "leaf-a1");
  const auto tree = with_code(fabric.build(), "sameTierLinks");
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree.front().severity, Severity::warning);
  EXPECT_EQ(tree.front().objects.size(), 1U);
  const auto torus = with_code(generate("torus", {}).value(), "sameTierLinks");
  ASSERT_EQ(torus.size(), 1U);
  EXPECT_EQ(torus.front().severity, Severity::info);
  EXPECT_EQ(torus.front().objects.size(), 192U);
}

TEST(Checks, HostsOnSpinesAreNamed) {
  auto fabric = railed(5);
  fabric.plug("ufm", "mlx5_0", "spine-1", HostKind::management);
  EXPECT_THAT(objects(fabric.build(), "hostOnSpine"), ElementsAre("spine-1"));
}

TEST(Checks, MissingCablesAreNamedIfMostHostsHaveThem) {
  SmallFabric fabric;
  for (int h = 0; h < 4; ++h) {
    const std::string name = "n" + std::to_string(h);
    for (int r = 0; r < 2; ++r) {
      const std::string device = "mlx5_" + std::to_string(r);
      const HcaDraft hca = fabric.builder.add_hca({.guid = Guid(0xa0000 + 16 * fabric.builder.hca_count()),
                                                   .host = fabric.host(name),
                                                   .device = device,
                                                   .ports = 2});
      if (h == 3 && r == 1) continue;  // unlike the others
      fabric.builder.connect({fabric.sw("leaf"), fabric.next_port("leaf")}, {hca, 1},
                             infiniband_link(4, LinkSpeed::ndr));
    }
  }
  fabric.host("bare");
  const auto topology = fabric.build();
  EXPECT_THAT(objects(topology, "hostWithoutLinks"), ElementsAre("bare"));
  const HcaId hca = topology.hcas(topology.find_host("n3"))[1];
  EXPECT_THAT(objects(topology, "adapterWithoutLink"), ElementsAre(topology.port_text(topology.ports(hca)[0])));
}

TEST(Checks, DisconnectedPartsAndIsolatedSwitchesAreNamed) {
  auto fabric = railed(2);
  fabric.plug("far-1", "mlx5_0", "leaf-far");
  fabric.plug("far-2", "mlx5_0", "leaf-far");
  fabric.sw("in-the-box");
  const auto topology = fabric.build();
  const auto parts = with_code(topology, "severalComponents");
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(parts.front().message, HasSubstr("has 2 parts"));
  EXPECT_THAT(parts.front().objects, ::testing::Contains("leaf-far"));
  EXPECT_THAT(objects(topology, "isolatedSwitch"), ElementsAre("in-the-box"));
  EXPECT_EQ(summarize(topology).components, 3U);
}

TEST(Checks, SubnetsJoinedBySwitchesAreAnError) {
  TopologyBuilder builder;
  const SwitchDraft a = builder.add_switch({.guid = Guid(1), .name = "a", .ports = 4, .subnet = builder.subnet("one")});
  const SwitchDraft b = builder.add_switch({.guid = Guid(2), .name = "b", .ports = 4, .subnet = builder.subnet("two")});
  builder.connect({a, 1}, {b, 1}, infiniband_link(4, LinkSpeed::ndr));
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology.has_value());
  const auto findings = with_code(*topology, "linkBetweenSubnets");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().severity, Severity::error);
}

TEST(Checks, LidsThatAreTooManyOrSharedAreErrors) {
  SmallFabric fabric;
  const HcaDraft a = fabric.plug("a", "mlx5_0", "leaf");
  const HcaDraft b = fabric.plug("b", "mlx5_0", "leaf");
  const HcaDraft c = fabric.plug("c", "mlx5_0", "leaf");
  fabric.builder.set_port(a, 1, {.guid = Guid(1), .lid = 8, .lmc = 2});  // 8 to 11
  fabric.builder.set_port(b, 1, {.guid = Guid(2), .lid = 11});
  fabric.builder.set_port(c, 1, {.guid = Guid(3), .lid = 12});
  EXPECT_THAT(objects(fabric.build(), "duplicateLid"), ElementsAre("11"));

  TopologyBuilder builder;
  for (std::size_t s = 0; s < 100; ++s) {
    const std::string name = "leaf-" + std::to_string(s);
    const SwitchDraft sw = builder.add_switch({.guid = Guid(s + 1), .name = name, .ports = 500});
    for (unsigned p = 1; p <= 500; ++p) {
      const HcaDraft hca = builder.add_hca({.guid = Guid(0x10000 + builder.hca_count()), .host = builder.host(name)});
      builder.connect({sw, p}, {hca, 1}, infiniband_link(4, LinkSpeed::ndr));
    }
  }
  const auto large = std::move(builder).build();
  ASSERT_TRUE(large.has_value());
  EXPECT_THAT(objects(*large, "tooManyLids"), ElementsAre("default"));
}

TEST(Checks, SourceFindingsComeFirstAndListsAreBounded) {
  SmallFabric fabric;
  for (int h = 0; h < 1500; ++h) fabric.host("n" + std::to_string(h));
  fabric.plug("wired", "mlx5_0", "leaf");
  fabric.builder.add_finding({"madeUp", Severity::info, "from the source", {"x"}});
  const auto topology = fabric.build();
  const auto findings = check_fabric(topology);
  EXPECT_EQ(findings.front().code, "madeUp");
  const auto bare = with_code(topology, "hostWithoutLinks");
  ASSERT_EQ(bare.size(), 1U);
  EXPECT_THAT(bare.front().message, HasSubstr("1500 hosts"));
  ASSERT_EQ(bare.front().objects.size(), 1000U);
  EXPECT_EQ(bare.front().objects[9], "n9");
  EXPECT_EQ(bare.front().objects[10], "n10");
}

TEST(Checks, AnEmptyFabricIsCheckedWithoutFindings) {
  const auto topology = empty_topology();
  EXPECT_THAT(check_fabric(topology), IsEmpty());
  EXPECT_EQ(summarize(topology).switches, 0U);
}

TEST(Summary, CountsDevicesLinksAndGroups) {
  const auto topology =
      generate("rail-optimized", {{"hosts", "40"}, {"storage-servers", "3"}, {"hosts-per-rack", "4"}});
  ASSERT_TRUE(topology.has_value());
  const auto summary = summarize(*topology);
  EXPECT_EQ(summary.hosts, 43U);
  EXPECT_EQ(summary.gpus, 320U);
  EXPECT_EQ(summary.host_ports, 40 * 9 + 3U);
  EXPECT_EQ(summary.host_links, summary.host_ports);
  EXPECT_EQ(summary.leaves, 16 + 1U);
  EXPECT_EQ(summary.switches, topology->switches().size());
  EXPECT_EQ(summary.inter_switch_links, 16 * 32U);
  EXPECT_EQ(summary.components, 2U);
  EXPECT_EQ(summary.tiers, 2U);
  EXPECT_EQ(summary.rails, 8U);
  EXPECT_EQ(summary.racks, 10U);
  EXPECT_EQ(summary.subnets, 2U);
  EXPECT_EQ(summary.nvlink_domains, 40U);
  EXPECT_FALSE(summary.rails_inferred);
  EXPECT_EQ(summary.rail_confidence, 1);
}

}  // namespace
}  // namespace railweave::fabric::checks_test
