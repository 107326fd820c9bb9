// The columns of a topology and its lookups.
#include "fabric/topology/topology.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "fabric/topology/tiers.h"
#include "tests/unit/topology/small_fabric.h"

namespace railweave::fabric::topology_test {
namespace {

Topology made(std::string_view kind, const GenerateParameters& parameters) {
  auto topology = generate(kind, parameters);
  EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
  return std::move(topology).value();
}

TEST(Topology, EveryPortAndLinkIsFoundByItsText) {
  for (const std::string kind : {"fat-tree", "rail-only", "dragonfly", "torus", "demo-nvl72"}) {
    const auto topology = made(kind, {});
    std::set<std::string> texts;
    ASSERT_FALSE(topology.all_ports().empty());
    for (const auto port : topology.all_ports()) {
      const std::string text = topology.port_text(port);
      EXPECT_TRUE(texts.insert(text).second) << text;
      ASSERT_EQ(topology.find_port(text), port) << text;
    }
    ASSERT_FALSE(topology.links().empty());
    for (const auto link : topology.links()) {
      const std::string text = topology.link_text(link);
      ASSERT_EQ(topology.find_link(text), link) << text;
      const auto middle = text.find("--");
      EXPECT_LT(text.substr(0, middle), text.substr(middle + 2));
      ASSERT_EQ(topology.find_link(text.substr(middle + 2) + "--" + text.substr(0, middle)), link);
    }
  }
}

TEST(Topology, HostsAdaptersSwitchesAreFoundByNameAndGuid) {
  const auto topology = made("demo-hgx", {});
  ASSERT_FALSE(topology.hosts().empty());
  for (const auto host : topology.hosts()) EXPECT_EQ(topology.find_host(topology.name(host)), host);
  for (const auto sw : topology.switches()) {
    EXPECT_EQ(topology.find_switch(topology.name(sw)), sw);
    EXPECT_EQ(topology.find_switch(topology.guid(sw)), sw);
    EXPECT_EQ(topology.find_switch(to_string(topology.guid(sw))), sw);
    EXPECT_EQ(topology.find_switch("0x" + to_string(topology.guid(sw))), sw);
  }
  ASSERT_FALSE(topology.hcas().empty());
  for (const auto hca : topology.hcas()) {
    EXPECT_EQ(topology.find_hca(topology.guid(hca)), hca);
    for (const auto port : topology.ports(hca)) EXPECT_EQ(topology.find_hca(topology.port_guid(port)), hca);
  }
}

TEST(Topology, LookupsOfUnknownNamesFindNothing) {
  const auto topology = made("demo-nvl72", {});
  EXPECT_FALSE(topology.find_host("").valid());
  EXPECT_FALSE(topology.find_host("unknown").valid());
  EXPECT_FALSE(topology.find_switch("unknown").valid());
  EXPECT_FALSE(topology.find_switch(Guid()).valid());
  EXPECT_FALSE(topology.find_hca(Guid(1)).valid());
  for (const std::string text :
       {"", "/", "/1", "gb-node-001", "gb-node-001/gpu4", "gb-node-001/gpu-1", "gb-node-001/gpu", "gb-nvl72-1/0",
        "gb-nvl72-1/73", "gb-nvl72-1/x", "unknown/1", "0252570100000010/0", "0252570100000010/65",
        "0252570100000010/4294967297", "ffffffffffffffff/1"}) {
    EXPECT_FALSE(topology.find_port(text).valid()) << text;
  }
  EXPECT_TRUE(topology.find_port("gb-node-001/gpu3").valid());
  EXPECT_TRUE(topology.find_port("gb-nvl72-1/72").valid());
  for (const std::string text : {"", "--", "a--b", "gb-node-001/gpu0--gb-node-001/gpu1"}) {
    EXPECT_FALSE(topology.find_link(text).valid()) << text;
  }
}

TEST(Topology, PortsKnowTheirOwnersNumbersAndSubnets) {
  const auto topology = made("rail-optimized", {{"hosts", "20"}, {"planes", "2"}});
  ASSERT_FALSE(topology.switches().empty());
  for (const auto sw : topology.switches()) {
    unsigned number = 0;
    for (const auto port : topology.ports(sw)) {
      EXPECT_EQ(topology.number(port), ++number);
      EXPECT_EQ(topology.owner(port), (PortOwner{DeviceKind::network_switch, sw.value()}));
      EXPECT_EQ(topology.switch_of(port), sw);
      EXPECT_FALSE(topology.hca_of(port).valid());
      EXPECT_EQ(topology.subnet(port), topology.subnet(sw));
    }
  }
  ASSERT_FALSE(topology.gpus().empty());
  for (const auto gpu : topology.gpus()) {
    for (const auto port : topology.ports(gpu)) {
      EXPECT_EQ(topology.owner(port), (PortOwner{DeviceKind::gpu, gpu.value()}));
      const PortId peer = topology.peer(port);
      EXPECT_EQ(topology.owner(peer), (PortOwner{DeviceKind::nvlink_domain, topology.nvlink_domain(gpu).value()}));
      EXPECT_EQ(topology.kind(topology.link(port)), LinkKind::nvlink);
      EXPECT_FALSE(topology.subnet(port).valid());
    }
  }
  EXPECT_EQ(topology.switch_ports().size() + topology.hca_ports().size() + 2 * topology.gpus().size(),
            topology.all_ports().size());
}

TEST(Topology, DistinguishesNamesThatLookLikeGuids) {
  TopologyBuilder builder;
  const SwitchDraft a = builder.add_switch({.guid = Guid(0xbeef), .name = "000000000000cafe", .ports = 1});
  const SwitchDraft b = builder.add_switch({.guid = Guid(0xcafe), .name = "beef", .ports = 1});
  builder.connect({a, 1}, {b, 1}, infiniband_link(4, LinkSpeed::ndr));
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology.has_value());
  ASSERT_FALSE(topology->all_ports().empty());
  for (const auto port : topology->all_ports()) EXPECT_EQ(topology->find_port(topology->port_text(port)), port);
  EXPECT_EQ(topology->find_link(topology->link_text(LinkId(0))), LinkId(0));
}

TEST(Topology, PortsWithoutGuidsAreNamedByDevice) {
  TopologyBuilder builder;
  const SwitchDraft sw = builder.add_switch({.name = "tor/1", .ports = 3});
  unsigned port = 0;
  for (const std::string device : {"eth0", "eth0", ""}) {
    const HcaDraft nic = builder.add_hca({.host = builder.host("n--1"), .device = device});
    builder.connect({sw, ++port}, {nic, 1}, ethernet_link(from_gbps(400)));
  }
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology.has_value());
  std::set<std::string> texts;
  ASSERT_FALSE(topology->all_ports().empty());
  for (const auto p : topology->all_ports()) {
    texts.insert(topology->port_text(p));
    EXPECT_EQ(topology->find_port(topology->port_text(p)), p) << topology->port_text(p);
  }
  EXPECT_EQ(texts, (std::set<std::string>{"tor/1/1", "tor/1/2", "tor/1/3", "n--1/eth0/1", "n--1/#2/1", "n--1/#0/1"}));
  ASSERT_FALSE(topology->links().empty());
  for (const auto link : topology->links()) EXPECT_EQ(topology->find_link(topology->link_text(link)), link);
}

TEST(Topology, AnEmptyTopologyAnswersAllQueries) {
  const auto topology = empty_topology();
  EXPECT_TRUE(topology.hosts().empty());
  EXPECT_TRUE(topology.all_ports().empty());
  EXPECT_TRUE(topology.hca_ports().empty());
  EXPECT_FALSE(topology.find_host("x").valid());
  EXPECT_FALSE(topology.find_port("x/1").valid());
  EXPECT_EQ(topology.tier_count(), 0U);
}

TEST(Tiers, AreTheDistanceToTheNearestSwitchWithHosts) {
  SmallFabric fabric;
  fabric.plug("n1", "mlx5_0", "leaf-1");
  fabric.plug("n2", "mlx5_0", "leaf-2");
  fabric.join("leaf-1", "spine-1");
  fabric.join("leaf-2", "spine-1");
  fabric.join("spine-1", "core");
  fabric.join("core", "attic");
  fabric.sw("boxed");
  // An aggregation node is not a host.
  const HcaDraft node = fabric.builder.add_hca({.guid = Guid(0x99), .kind = HcaKind::aggregation});
  fabric.builder.connect({fabric.sw("attic"), fabric.next_port("attic")}, {node, 1},
                         infiniband_link(4, LinkSpeed::ndr));
  const auto topology = fabric.build();
  const auto tier = [&](std::string_view name) { return static_cast<int>(topology.tier(topology.find_switch(name))); };
  EXPECT_EQ(tier("leaf-1"), 0);
  EXPECT_EQ(tier("spine-1"), 1);
  EXPECT_EQ(tier("core"), 2);
  EXPECT_EQ(tier("attic"), 3);
  EXPECT_EQ(tier("boxed"), Topology::kNoTier);
  EXPECT_EQ(topology.tier_count(), 4U);
}

TEST(Link, SpeedsAndKindsAreReadAsTheyAreWritten) {
  EXPECT_EQ(infiniband_link(4, LinkSpeed::ndr).rate, from_gbps(400));
  EXPECT_EQ(infiniband_link(4, LinkSpeed::xdr).rate, from_gbps(800));
  EXPECT_EQ(infiniband_link(1, LinkSpeed::sdr).rate, RateMbps(2000));
  for (const auto speed : {LinkSpeed::sdr, LinkSpeed::ddr, LinkSpeed::qdr, LinkSpeed::fdr10, LinkSpeed::fdr,
                           LinkSpeed::edr, LinkSpeed::hdr, LinkSpeed::ndr, LinkSpeed::xdr, LinkSpeed::other}) {
    EXPECT_EQ(parse_link_speed(to_string(speed)), speed);
  }
  EXPECT_EQ(parse_link_speed("ndr"), LinkSpeed::ndr);
  EXPECT_EQ(parse_link_speed(""), std::nullopt);
  EXPECT_EQ(parse_link_speed("4xNDR"), std::nullopt);
  for (const auto kind : {LinkKind::infiniband, LinkKind::ethernet, LinkKind::nvlink}) {
    EXPECT_EQ(parse_link_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(parse_link_kind("token ring"), std::nullopt);
}

TEST(StringPool, KeepsEqualNamesOnceAndContinuesAPool) {
  StringInterner interner;
  EXPECT_EQ(interner.intern(""), 0U);
  const NameRef a = interner.intern("a");
  EXPECT_EQ(interner.intern("a"), a);
  EXPECT_EQ(interner.find("a"), a);
  EXPECT_EQ(interner.find("b"), std::nullopt);
  EXPECT_EQ(interner.find(""), 0U);
  StringInterner further(std::move(interner).take());
  const NameRef b = further.intern("b");
  EXPECT_EQ(further[a], "a");
  EXPECT_EQ(further[b], "b");
  EXPECT_EQ(further[0], "");
  for (int i = 0; i < 1000; ++i) further.intern("n" + std::to_string(i));
  EXPECT_EQ(further[a], "a");
  EXPECT_EQ(further[*further.find("n999")], "n999");
}

}  // namespace
}  // namespace railweave::fabric::topology_test
