// Contradictions and limits in the builder: findings and errors, never a crash.
#include "fabric/topology/topology_builder.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topology/small_fabric.h"

namespace railweave::fabric::topology_builder_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr LinkSpec kNdr = infiniband_link(4, LinkSpeed::ndr);

std::vector<std::string> codes(const Topology& topology) {
  std::vector<std::string> result;
  for (const auto& finding : topology.source_findings()) result.push_back(finding.code);
  return result;
}

struct TwoSwitches {
  TopologyBuilder builder;
  SwitchDraft a = builder.add_switch({.guid = Guid(1), .name = "a", .ports = 4});
  SwitchDraft b = builder.add_switch({.guid = Guid(2), .name = "b", .ports = 4});

  Topology build() {
    auto topology = std::move(builder).build();
    EXPECT_TRUE(topology.has_value());
    return std::move(topology).value();
  }
};

TEST(TopologyBuilder, LinksPortsThatBothEndsReport) {
  TwoSwitches t;
  t.builder.declare_peer({t.a, 1}, {t.b, 3}, kNdr);
  t.builder.declare_peer({t.b, 3}, {t.a, 1}, kNdr);
  const auto topology = t.build();
  EXPECT_TRUE(topology.source_findings().empty());
  ASSERT_EQ(topology.links().size(), 1U);
  EXPECT_EQ(topology.link_text(LinkId(0)), "0000000000000001/1--0000000000000002/3");
  EXPECT_EQ(topology.spec(LinkId(0)), kNdr);
}

TEST(TopologyBuilder, ALinkReportedByOneEndIsKeptWithAFinding) {
  TwoSwitches t;
  t.builder.declare_peer({t.b, 3}, {t.a, 1}, kNdr);
  const auto topology = t.build();
  EXPECT_THAT(codes(topology), ElementsAre("danglingLink"));
  EXPECT_EQ(topology.links().size(), 1U);
}

TEST(TopologyBuilder, ACableBothEndsReportOverridesAClaim) {
  TwoSwitches t;
  const SwitchDraft c = t.builder.add_switch({.guid = Guid(0xc), .name = "c", .ports = 1});
  t.builder.declare_peer({c, 1}, {t.b, 2}, kNdr);  // comes first, but b/2 is cabled to a/2
  t.builder.connect({t.a, 2}, {t.b, 2}, kNdr);
  const auto topology = t.build();
  EXPECT_THAT(codes(topology), ElementsAre("asymmetricLink"));
  ASSERT_EQ(topology.links().size(), 1U);
  EXPECT_EQ(topology.link_text(LinkId(0)), "0000000000000001/2--0000000000000002/2");
}

TEST(TopologyBuilder, OfTwoClaimsToAPortTheFirstIsKept) {
  TwoSwitches t;
  t.builder.declare_peer({t.a, 1}, {t.b, 1}, kNdr);
  t.builder.declare_peer({t.a, 1}, {t.b, 2}, kNdr);
  const auto topology = t.build();
  EXPECT_THAT(codes(topology), ElementsAre("portUsedTwice", "danglingLink"));
  EXPECT_EQ(topology.links().size(), 1U);
}

TEST(TopologyBuilder, PortsOutsideTheDeviceAndLinksToThemselvesAreLeftOut) {
  TwoSwitches t;
  t.builder.connect({t.a, 5}, {t.b, 1}, kNdr);
  t.builder.connect({t.a, 0}, {t.b, 1}, kNdr);
  t.builder.connect({t.a, 1}, {t.a, 1}, kNdr);
  const auto topology = t.build();
  EXPECT_EQ(topology.links().size(), 0U);
  EXPECT_EQ(std::ranges::count(codes(topology), "portOutOfRange"), 4);
  EXPECT_EQ(std::ranges::count(codes(topology), "linkToItself"), 2);
}

TEST(TopologyBuilder, ASwitchMayBeCabledToItself) {
  TwoSwitches t;
  t.builder.connect({t.a, 1}, {t.a, 2}, kNdr);
  const auto topology = t.build();
  EXPECT_EQ(topology.links().size(), 1U);
  EXPECT_TRUE(topology.source_findings().empty());
}

TEST(TopologyBuilder, TheSlowerSpeedIsUsedIfTheEndsDiffer) {
  TwoSwitches t;
  t.builder.declare_peer({t.a, 1}, {t.b, 1}, infiniband_link(4, LinkSpeed::ndr));
  t.builder.declare_peer({t.b, 1}, {t.a, 1}, infiniband_link(4, LinkSpeed::hdr));
  const auto topology = t.build();
  EXPECT_THAT(codes(topology), ElementsAre("linkEndsDiffer"));
  EXPECT_EQ(topology.rate(LinkId(0)), from_gbps(200));
}

TEST(TopologyBuilder, AnEndWithoutARateContradictsNoOther) {
  for (const bool swapped : {false, true}) {
    TwoSwitches t;
    LinkSpec unknown;
    unknown.cable_length_m = 3;
    t.builder.declare_peer({t.a, 1}, {t.b, 1}, swapped ? unknown : kNdr);
    t.builder.declare_peer({t.b, 1}, {t.a, 1}, swapped ? kNdr : unknown);
    const auto topology = t.build();
    EXPECT_TRUE(topology.source_findings().empty());
    EXPECT_EQ(topology.rate(LinkId(0)), kNdr.rate);
    EXPECT_EQ(topology.spec(LinkId(0)).speed, LinkSpeed::ndr);
    EXPECT_EQ(topology.spec(LinkId(0)).width, 4);
    EXPECT_EQ(topology.spec(LinkId(0)).cable_length_m, 3);
  }
}

TEST(TopologyBuilder, SharedGuidsAndNamesAreFound) {
  TopologyBuilder builder;
  builder.add_switch({.guid = Guid(1), .name = "leaf", .ports = 1});
  builder.add_switch({.guid = Guid(1), .name = "leaf", .ports = 1});
  builder.add_switch({.guid = Guid(2), .name = "other", .ports = 1});
  builder.add_hca({.guid = Guid(7), .host = builder.host("h"), .device = "mlx5_0"});
  builder.add_hca({.guid = Guid(7), .host = builder.host("h"), .device = "mlx5_1"});
  builder.add_hca({.guid = Guid(2), .host = builder.host("h"), .device = "mlx5_2"});
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology.has_value());
  const auto found = codes(*topology);
  EXPECT_EQ(std::ranges::count(found, "duplicateName"), 2);
  EXPECT_EQ(std::ranges::count(found, "duplicateGuid"), 3);
  EXPECT_NE(topology->name(SwitchId(0)), topology->name(SwitchId(1)));
  ASSERT_FALSE(topology->all_ports().empty());
  for (const auto port : topology->all_ports()) EXPECT_EQ(topology->find_port(topology->port_text(port)), port);
}

TEST(TopologyBuilder, NicsOfOtherHostsAreLeftOutAndRepeatsIgnored) {
  TopologyBuilder builder;
  const HcaDraft here = builder.add_hca({.guid = Guid(1), .host = builder.host("a"), .device = "mlx5_0"});
  const HcaDraft there = builder.add_hca({.guid = Guid(2), .host = builder.host("b"), .device = "mlx5_0"});
  const GpuDraft gpu = builder.add_gpu(builder.host("a"));
  builder.add_nic(gpu, there);
  builder.add_nic(gpu, here);
  builder.add_nic(gpu, here);
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology.has_value());
  EXPECT_THAT(codes(*topology), ElementsAre("nicOfAnotherHost"));
  ASSERT_EQ(topology->nics(GpuId(0)).size(), 1U);
  EXPECT_EQ(topology->host(topology->nics(GpuId(0)).front()), topology->find_host("a"));
}

TEST(TopologyBuilder, SwitchesWithoutASubnetGetThatOfTheirNeighbours) {
  SmallFabric fabric;
  const SubnetId compute = fabric.builder.subnet("compute", SubnetKind::compute);
  const SwitchDraft named =
      fabric.builder.add_switch({.guid = Guid(0xfff), .name = "named", .ports = 2, .subnet = compute});
  fabric.join("leaf", "spine");
  fabric.builder.connect({named, 1}, {fabric.sw("spine"), fabric.next_port("spine")}, kNdr);
  fabric.sw("far");
  const auto topology = fabric.build();
  const auto subnet = [&](std::string_view name) { return topology.name(topology.subnet(topology.find_switch(name))); };
  EXPECT_EQ(subnet("leaf"), "compute");
  EXPECT_EQ(subnet("spine"), "compute");
  EXPECT_EQ(subnet("far"), "default");
}

TEST(TopologyBuilder, TheKindOfASubnetMayBeGivenLater) {
  TopologyBuilder builder;
  builder.add_switch({.guid = Guid(1), .name = "s", .ports = 1, .subnet = builder.subnet("x")});
  builder.subnet("x", SubnetKind::storage);
  builder.subnet("x", SubnetKind::compute);
  const auto topology = std::move(builder).build();
  EXPECT_EQ(topology->kind(SubnetId(0)), SubnetKind::storage);
}

TEST(TopologyBuilder, IdsFollowNamesAndGuidsNotTheOrderOfReading) {
  std::mt19937 random(2);
  std::string first;
  for (int round = 0; round < 20; ++round) {
    std::vector<int> order{1, 2, 3, 10, 11, 20};
    std::ranges::shuffle(order, random);
    TopologyBuilder builder;
    std::vector<std::pair<SwitchDraft, int>> switches;
    for (const int n : order) {
      const std::string name = "n" + std::to_string(n);
      switches.emplace_back(builder.add_switch({.guid = Guid(static_cast<std::uint64_t>(n)), .name = name, .ports = 2}),
                            n);
      builder.set_rack(builder.host(name), builder.rack("r" + std::to_string(n % 4)));
      builder.add_label(builder.host(name), "zone", std::to_string(n));
      builder.add_label(builder.host(name), "arch", "x");
    }
    std::ranges::shuffle(order, random);
    for (const int n : order) {
      const auto sw = std::ranges::find(switches, n, &std::pair<SwitchDraft, int>::second)->first;
      for (int d : {1, 0}) {
        const HcaDraft hca = builder.add_hca({.guid = Guid(static_cast<std::uint64_t>(100 * n + d)),
                                              .host = builder.host("n" + std::to_string(n)),
                                              .device = "mlx5_" + std::to_string(d == 0 ? 2 : 10)});
        builder.connect({hca, 1}, {sw, static_cast<unsigned>(d + 1)}, kNdr);
      }
    }
    const auto topology = std::move(builder).build();
    ASSERT_TRUE(topology.has_value());
    std::string text;
    for (const auto host : topology->hosts()) {
      text += std::string(topology->name(host)) + " " + std::string(topology->name(topology->rack(host)));
      for (const auto& label : topology->labels(host)) text += " " + std::string(topology->text(label.key));
      for (const auto hca : topology->hcas(host)) text += " " + std::string(topology->device(hca));
    }
    for (const auto link : topology->links()) text += " " + topology->link_text(link);
    if (round == 0) first = text;
    EXPECT_EQ(text, first);
    EXPECT_EQ(topology->name(HostId(1)), "n2");
    EXPECT_EQ(topology->name(HostId(3)), "n10");
    EXPECT_EQ(topology->device(topology->hcas(HostId(0)).front()), "mlx5_2");
  }
}

TEST(TopologyBuilder, RefusesFabricsOverALimitAndEmptyOnes) {
  {
    TopologyBuilder builder;
    EXPECT_EQ(std::move(builder).build().error().code, "fabric.empty");
  }
  {
    TopologyBuilder builder;
    builder.add_switch({.guid = Guid(1), .name = "huge", .ports = 4'000'000'000U});
    const auto result = std::move(builder).build();
    EXPECT_EQ(result.error().kind, ErrorKind::tooLarge);
    EXPECT_THAT(result.error().message, HasSubstr("ports of one device"));
  }
  {
    TopologyBuilder builder;
    for (int i = 0; i < 100; ++i) builder.add_gpu(builder.host("h"));
    EXPECT_THAT(std::move(builder).build().error().message, HasSubstr("GPUs of one host"));
  }
  {
    TopologyBuilder builder;
    for (int i = 0; i < 300; ++i) builder.add_label(builder.host("h"), "key-" + std::to_string(i), "v");
    EXPECT_THAT(std::move(builder).build().error().message, HasSubstr("labels of one host"));
  }
}

TEST(TopologyBuilder, FindingsAreBounded) {
  TwoSwitches t;
  for (int i = 0; i < 30'000; ++i) t.builder.connect({t.a, 9}, {t.b, 1}, kNdr);
  const auto topology = t.build();
  EXPECT_EQ(topology.source_findings().size(), 10'001U);
  EXPECT_EQ(topology.source_findings().back().code, "tooManyFindings");
}

// Random input always gives a consistent topology.
TEST(TopologyBuilder, RandomClaimsGiveAConsistentTopology) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    TopologyBuilder builder;
    std::vector<CableEnd> ends;
    const unsigned switches = 1 + random() % 6;
    for (unsigned s = 0; s < switches; ++s) {
      const unsigned ports = random() % 6;
      const SwitchDraft sw = builder.add_switch(
          {.guid = Guid(random() % 8), .name = std::string(1, static_cast<char>('a' + random() % 4)), .ports = ports});
      for (unsigned p = 0; p <= ports + 1; ++p) ends.emplace_back(sw, p);
    }
    for (unsigned h = 0, hcas = random() % 8; h < hcas; ++h) {
      const bool hosted = random() % 5 != 0;
      const unsigned ports = random() % 3;
      const HcaDraft hca =
          builder.add_hca({.guid = Guid(random() % 12),
                           .kind = hosted ? HcaKind::host : HcaKind::aggregation,
                           .host = hosted ? builder.host("h" + std::to_string(random() % 3)) : HostDraft(),
                           .device = "d" + std::to_string(random() % 3),
                           .ports = ports});
      for (unsigned p = 0; p <= ports; ++p) ends.emplace_back(hca, p);
    }
    for (unsigned i = 0; i < 30; ++i) {
      const CableEnd a = ends[random() % ends.size()];
      const CableEnd b = ends[random() % ends.size()];
      builder.declare_peer(a, b, random() % 2 == 0 ? kNdr : LinkSpec{});
      if (random() % 2 == 0) builder.declare_peer(b, a, kNdr);
    }
    const auto topology = std::move(builder).build();
    ASSERT_TRUE(topology.has_value());
    std::size_t cabled = 0;
    for (const auto port : topology->all_ports()) {
      const PortId peer = topology->peer(port);
      EXPECT_EQ(peer.valid(), topology->link(port).valid());
      if (!peer) continue;
      ++cabled;
      EXPECT_NE(peer, port);
      EXPECT_EQ(topology->peer(peer), port);
      EXPECT_EQ(topology->link(peer), topology->link(port));
    }
    EXPECT_EQ(cabled, 2 * topology->links().size());
    for (const auto link : topology->links()) {
      EXPECT_LT(topology->a(link), topology->b(link));
      EXPECT_EQ(topology->link(topology->a(link)), link);
    }
    // Every port can be found by its text, unless an adapter without a host has no unique GUID.
    for (const auto port : topology->all_ports()) {
      const HcaId hca = topology->hca_of(port);
      if (hca && !topology->host(hca)) continue;
      EXPECT_EQ(topology->find_port(topology->port_text(port)), port) << topology->port_text(port);
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::topology_builder_test
