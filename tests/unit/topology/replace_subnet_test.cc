// A subnet discovered again within an accepted fabric: what discovery cannot find is kept.
#include "fabric/topology/replace_subnet.h"

#include <functional>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fabric/formats/native/native_json.h"
#include "fabric/generate/generate.h"

namespace railweave::fabric::replace_subnet_test {
namespace {

Topology made(std::string_view kind, const GenerateParameters& parameters = {}) {
  auto topology = generate(kind, parameters);
  EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
  return std::move(topology).value();
}

SubnetId subnet_named(const Topology& topology, std::string_view name) {
  for (const auto id : topology.subnets()) {
    if (topology.name(id) == name) return id;
  }
  return {};
}

// What a sweep of the subnet would find: switches, adapters that have a cable to them, cables; no GPUs, racks, labels,
// rails, cable lengths, no ports of other subnets. `keep`: links that are found.
Topology swept(const Topology& topology, SubnetId subnet, const std::function<bool(LinkId)>& keep) {
  TopologyBuilder builder;
  const SubnetId name = builder.subnet(topology.name(subnet));
  std::map<SwitchId, SwitchDraft> switches;
  std::map<HcaId, HcaDraft> hcas;
  for (const auto sw : topology.switches()) {
    if (topology.subnet(sw) != subnet) continue;
    switches[sw] = builder.add_switch({.guid = topology.guid(sw),
                                       .name = topology.description(sw),
                                       .description = topology.description(sw),
                                       .ports = static_cast<unsigned>(topology.ports(sw).size()),
                                       .subnet = name,
                                       .lid = topology.lid(sw)});
  }
  const auto end = [&](PortId port) {
    if (const auto sw = topology.switch_of(port)) return CableEnd(switches.at(sw), topology.number(port));
    const auto hca = topology.hca_of(port);
    if (!hcas.contains(hca)) {
      const HostId host = topology.host(hca);
      hcas[hca] = builder.add_hca({.guid = topology.guid(hca),
                                   .kind = topology.kind(hca),
                                   .host = host ? builder.host(topology.name(host), topology.kind(host)) : HostDraft(),
                                   .device = topology.device(hca),
                                   .description = topology.description(hca),
                                   .ports = static_cast<unsigned>(topology.ports(hca).size())});
    }
    builder.set_port(hcas[hca], topology.number(port),
                     {.guid = topology.port_guid(port), .lid = topology.lid(port), .lmc = topology.lmc(port)});
    return CableEnd(hcas[hca], topology.number(port));
  };
  for (const auto link : topology.links()) {
    if (topology.kind(link) == LinkKind::nvlink || topology.subnet(topology.a(link)) != subnet || !keep(link)) continue;
    LinkSpec spec = topology.spec(link);
    spec.cable_length_m = 0;
    const CableEnd a = end(topology.a(link));
    const CableEnd b = end(topology.b(link));
    builder.connect(a, b, spec);
  }
  return std::move(builder).build().value();
}

constexpr auto all_links = [](LinkId) { return true; };

// Racks, labels, rails by name, cable lengths and a switch's name given by hand, as in an operator's file.
Topology adorned(const Topology& topology) {
  std::string text = write_native_json(topology);
  const auto replace = [&](const std::string& what, const std::string& with) {
    const auto at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), with);
  };
  replace(R"({"name":")" + std::string(topology.name(HostId(0))) + '"',
          R"({"name":")" + std::string(topology.name(HostId(0))) + R"(","labels":{"zone":"east"})");
  replace(R"("width":4)", R"("width":4,"cableLengthM":12.5)");
  TopologyBuilder builder;
  EXPECT_TRUE(read_native_json(text, {}, builder));
  return std::move(builder).build().value();
}

TEST(ReplaceSubnet, AnUnchangedSubnetChangesNothing) {
  std::size_t replaced = 0;
  for (const auto& [kind, parameters] : {std::pair<std::string, GenerateParameters>{"demo-hgx", {}},
                                         {"demo-nvl72", {}},
                                         {"fat-tree", {{"planes", "2"}, {"storage-servers", "3"}}},
                                         {"rail-optimized", {{"hosts-per-rack", "4"}}}}) {
    const Topology topology = adorned(made(kind, parameters));
    ASSERT_FALSE(topology.subnets().empty());
    for (const auto subnet : topology.subnets()) {
      const std::string name(topology.name(subnet));
      auto result = replace_subnet(topology, swept(topology, subnet, all_links), name);
      EXPECT_TRUE(result.hosts_lost.empty());
      const auto again = std::move(result.builder).build();
      ASSERT_TRUE(again);
      EXPECT_EQ(write_native_json(*again), write_native_json(topology)) << kind << " " << name;
      ++replaced;
    }
  }
  EXPECT_GE(replaced, 6U);
}

TEST(ReplaceSubnet, AFirstSubnetIsAddedAsFound) {
  const Topology topology = made("demo-hgx");
  const Topology found = swept(topology, SubnetId(0), all_links);
  auto result =
      replace_subnet(Topology(TopologyBuilder().build().value_or(empty_topology())), found, topology.name(SubnetId(0)));
  EXPECT_EQ(write_native_json(std::move(result.builder).build().value()), write_native_json(found));
}

TEST(ReplaceSubnet, RemovesMissingCablesAndKeepsGpus) {
  const Topology topology = made("fat-tree", {{"planes", "2"}});
  const SubnetId subnet = topology.subnets()[0];
  std::set<LinkId> pulled;  // the first host's cable in this subnet, and one between switches
  for (const auto link : topology.links()) {
    if (topology.kind(link) == LinkKind::nvlink || topology.subnet(topology.a(link)) != subnet) continue;
    const auto hca = topology.hca_of(topology.b(link));
    const bool between = topology.joins_switches(link);
    if ((hca && topology.host(hca) == HostId(0)) || (between && pulled.empty())) pulled.insert(link);
  }
  ASSERT_GE(pulled.size(), 2U);
  const Topology found = swept(topology, subnet, [&](LinkId link) { return !pulled.contains(link); });
  auto result = replace_subnet(topology, found, topology.name(subnet));
  EXPECT_TRUE(result.hosts_lost.empty()) << "the host is still in the other plane";
  const Topology again = std::move(result.builder).build().value();
  EXPECT_EQ(again.links().size(), topology.links().size() - pulled.size());
  ASSERT_FALSE(pulled.empty());
  for (const auto link : pulled) EXPECT_FALSE(again.find_link(topology.link_text(link)));
  EXPECT_EQ(again.gpus().size(), topology.gpus().size());
}

TEST(ReplaceSubnet, HostsThatAreNotFoundAreNamedWithTheirGpus) {
  const Topology topology = made("fat-tree");
  const SubnetId subnet = topology.subnets()[0];
  const Topology found = swept(topology, subnet, [&](LinkId link) {
    const auto hca = topology.hca_of(topology.b(link));
    return !hca || topology.host(hca) != HostId(0);
  });
  auto result = replace_subnet(topology, found, topology.name(subnet));
  EXPECT_EQ(result.hosts_lost, std::vector<std::string>{std::string(topology.name(HostId(0)))});
  EXPECT_EQ(result.gpus_lost, topology.gpus(HostId(0)).size());
  const Topology again = std::move(result.builder).build().value();
  EXPECT_FALSE(again.find_host(topology.name(HostId(0))));
  EXPECT_EQ(again.gpus().size(), topology.gpus().size() - result.gpus_lost);
}

TEST(ReplaceSubnet, RenamedHostsKeepTheirGpusAndNewHostsAreAdded) {
  const Topology topology = made("fat-tree");
  const SubnetId subnet = topology.subnets()[0];
  TopologyBuilder builder;
  const auto sw = builder.add_switch({.guid = topology.guid(SwitchId(0)), .name = "renamed", .ports = 64});
  const HcaId known = topology.hcas(HostId(0))[0];
  const auto renamed =
      builder.add_hca({.guid = topology.guid(known), .host = builder.host("other-name"), .device = "x"});
  const auto fresh = builder.add_hca({.guid = Guid(0xabcdef), .host = builder.host("fresh"), .device = "mlx5_0"});
  builder.connect({sw, 1}, {renamed, 1}, infiniband_link(4, LinkSpeed::ndr));
  builder.connect({sw, 2}, {fresh, 1}, infiniband_link(4, LinkSpeed::ndr));
  const Topology found = std::move(builder).build().value();
  auto result = replace_subnet(topology, found, topology.name(subnet));
  EXPECT_EQ(result.hosts_lost.size(), topology.hosts().size() - 1);
  const Topology again = std::move(result.builder).build().value();
  ASSERT_TRUE(again.find_host(topology.name(HostId(0))));
  EXPECT_EQ(again.gpus(again.find_host(topology.name(HostId(0)))).size(), topology.gpus(HostId(0)).size());
  EXPECT_FALSE(again.find_host("other-name"));
  EXPECT_TRUE(again.find_host("fresh"));
  EXPECT_TRUE(subnet_named(again, topology.name(subnet)));
}

}  // namespace
}  // namespace railweave::fabric::replace_subnet_test
