#include "fabric/generate/generate.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/unit/generate/fabric_measures.h"

namespace railweave::fabric::generate_test {
namespace {

TEST(Generate, TheSameParametersGiveTheSameFabric) {
  ASSERT_FALSE(generate_kinds().empty());
  for (const auto& kind : generate_kinds()) {
    const auto first = generate(kind.name, {{"storage-servers", "5"}});
    const auto second = generate(kind.name, {{"storage-servers", "5"}});
    ASSERT_TRUE(first.has_value()) << kind.name << ": " << first.error().text();
    EXPECT_EQ(everything(*first), everything(*second)) << kind.name;
  }
}

TEST(Generate, EveryKindAndPresetNeedsNoParameters) {
  EXPECT_EQ(generate_kinds().size(), 6U);
  ASSERT_FALSE(generate_kinds().empty());
  for (const auto& kind : generate_kinds()) {
    EXPECT_FALSE(kind.parameters.empty());
    EXPECT_TRUE(generate(kind.name, {}).has_value()) << kind.name;
  }
  ASSERT_FALSE(generate_presets().empty());
  for (const auto& preset : generate_presets()) EXPECT_TRUE(generate(preset.name, {}).has_value()) << preset.name;
}

TEST(Generate, DeclaredFallbacksAreWhatIsUsed) {
  ASSERT_FALSE(generate_kinds().empty());
  for (const auto& kind : generate_kinds()) {
    GenerateParameters spelled_out;
    for (const auto& parameter : kind.parameters) {
      EXPECT_FALSE(parameter.meaning.empty()) << parameter.name;
      spelled_out[parameter.name] = parameter.fallback;
    }
    const auto implied = generate(kind.name, {});
    const auto given = generate(kind.name, spelled_out);
    ASSERT_TRUE(given.has_value()) << given.error().text();
    EXPECT_EQ(everything(*implied), everything(*given)) << kind.name;
  }
}

TEST(Generate, BadParametersAreNamed) {
  const auto error_of = [](std::string_view kind, const GenerateParameters& parameters) {
    const auto result = generate(kind, parameters);
    return result ? Error{} : result.error();
  };
  EXPECT_EQ(error_of("hypercube", {}).kind, ErrorKind::notFound);
  EXPECT_NE(error_of("hypercube", {}).hint.find("dragonfly-plus"), std::string::npos);
  const auto unknown = error_of("torus", {{"spines", "4"}});
  EXPECT_EQ(unknown.code, "generate.unknownParameter");
  EXPECT_NE(unknown.message.find("spines"), std::string::npos);
  for (const std::string bad : {"", "0", "-1", "1e9", "99999999999999999999", "12 ", "0x10", "\x1b[31m"}) {
    const auto error = error_of("fat-tree", {{"hosts", bad}});
    EXPECT_EQ(error.code, "generate.badParameter") << bad;
    EXPECT_EQ(error.location, "hosts");
    EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(error_of("fat-tree", {{"speed", "warp"}}).location, "speed");
  EXPECT_EQ(error_of("fat-tree", {{"oversubscription", "0:1"}}).location, "oversubscription");
  EXPECT_EQ(error_of("fat-tree", {{"prefix", "a b"}}).location, "prefix");
  EXPECT_EQ(
      error_of("torus", {{"x", "1024"}, {"y", "1024"}, {"z", "1024"}, {"gpus-per-host", "1"}, {"speed", "400G"}}).kind,
      ErrorKind::impossible);
}

TEST(Generate, LinkSpeedsAndKindsAreThoseGiven) {
  const auto xdr = generate("fat-tree", {{"hosts", "8"}, {"speed", "XDR"}, {"uplink-speed", "NDR"}});
  ASSERT_TRUE(xdr.has_value());
  ASSERT_FALSE(xdr->links().empty());
  for (const auto link : xdr->links()) {
    if (xdr->kind(link) == LinkKind::nvlink) continue;
    EXPECT_EQ(xdr->rate(link), from_gbps(xdr->joins_switches(link) ? 400 : 800));
  }
  const auto ethernet = generate("fat-tree", {{"hosts", "8"}, {"speed", "400G"}});
  ASSERT_TRUE(ethernet.has_value());
  ASSERT_FALSE(ethernet->links().empty());
  for (const auto link : ethernet->links()) {
    if (ethernet->kind(link) == LinkKind::nvlink) continue;
    EXPECT_EQ(ethernet->kind(link), LinkKind::ethernet);
    EXPECT_EQ(ethernet->rate(link), from_gbps(400));
  }
  ASSERT_FALSE(ethernet->switches().empty());
  for (const auto sw : ethernet->switches()) EXPECT_EQ(ethernet->lid(sw), 0);
}

TEST(Generate, StorageIsOnASeparateSubnet) {
  const auto topology = generate("rail-optimized", {{"hosts", "70"}, {"storage-servers", "10"}});
  ASSERT_TRUE(topology.has_value());
  ASSERT_EQ(topology->subnets().size(), 2U);
  std::size_t servers = 0;
  ASSERT_FALSE(topology->hosts().empty());
  for (const auto host : topology->hosts()) {
    const bool storage = topology->kind(host) == HostKind::storage;
    servers += storage ? 1 : 0;
    EXPECT_EQ(topology->hcas(host).size(), storage ? 1U : 9U);
    EXPECT_EQ(topology->gpus(host).size(), storage ? 0U : 8U);
    for (const auto hca : topology->hcas(host)) {
      const PortId port = topology->ports(hca).front();
      const bool on_storage = topology->kind(topology->subnet(port)) == SubnetKind::storage;
      EXPECT_EQ(on_storage, storage || topology->device(hca) == "mlx5_8");
      EXPECT_EQ(topology->rail(port).valid(), !on_storage);
    }
  }
  EXPECT_EQ(servers, 10U);
}

TEST(Generate, ClustersInOneBuilderNeedPrefixes) {
  TopologyBuilder builder;
  ASSERT_TRUE(generate_into({"fat-tree", {{"hosts", "4"}, {"prefix", "a-"}}}, builder).has_value());
  EXPECT_TRUE(generate_into({"torus", {{"prefix", "b-"}}}, builder).has_value());
  const auto again = generate_into({"rail-only", {{"hosts", "4"}, {"prefix", "a-"}}}, builder);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().kind, ErrorKind::conflict);
}

void check_valid(const Topology& topology) {
  ASSERT_TRUE(topology.source_findings().empty()) << topology.source_findings().front().message;
  std::set<Guid> guids;
  std::map<SubnetId, std::set<Lid>> lids;
  const auto add_lid = [&](SubnetId subnet, Lid lid) {
    EXPECT_TRUE(lid >= 1 && lid <= 0xBFFF);
    EXPECT_TRUE(lids[subnet].insert(lid).second) << "LID " << lid << " twice";
  };
  ASSERT_FALSE(topology.switches().empty());
  for (const auto sw : topology.switches()) {
    EXPECT_TRUE(guids.insert(topology.guid(sw)).second);
    add_lid(topology.subnet(sw), topology.lid(sw));
  }
  ASSERT_FALSE(topology.hcas().empty());
  for (const auto hca : topology.hcas()) {
    EXPECT_TRUE(guids.insert(topology.guid(hca)).second);
    for (const auto port : topology.ports(hca)) {
      EXPECT_TRUE(guids.insert(topology.port_guid(port)).second);
      ASSERT_TRUE(topology.peer(port).valid());  // every adapter is cabled
      add_lid(topology.subnet(port), topology.lid(port));
    }
  }
  for (const auto gpu : topology.gpus()) {
    ASSERT_FALSE(topology.nics(gpu).empty());
    for (const auto nic : topology.nics(gpu)) EXPECT_EQ(topology.host(nic), topology.host(gpu));
  }
  // Switches of a subnet are connected, and no link leaves it.
  for (const auto& [pair, links] : switch_pairs(topology)) {
    EXPECT_EQ(topology.subnet(pair.first), topology.subnet(pair.second));
  }
  std::map<SubnetId, SwitchId> first;
  for (const auto sw : topology.switches()) first.emplace(topology.subnet(sw), sw);
  for (const auto& [subnet, from] : first) {
    const auto distance = distances(topology, from);
    for (const auto sw : topology.switches()) {
      if (topology.subnet(sw) == subnet) {
        EXPECT_NE(distance[sw.index()], UINT32_MAX) << topology.name(sw);
      }
    }
  }
}

TEST(Generate, RandomParametersGiveAValidFabricOrAnError) {
  std::mt19937 random(7);
  std::size_t made = 0;
  for (std::uint64_t round = 0; round < part_of_seeds(1500); ++round) {
    const auto& kind = generate_kinds()[random() % generate_kinds().size()];
    GenerateParameters parameters;
    for (const auto& parameter : kind.parameters) {
      if (random() % 2 == 0 || parameter.fallback.empty() || parameter.name.find("speed") != std::string::npos)
        continue;
      const bool few = parameter.name == "planes" || parameter.name == "tiers";
      const unsigned most = parameter.name == "hosts" ? 80 : few ? 3 : 12;
      const unsigned least = parameter.name == "radix" ? 8 : 1;
      parameters[parameter.name] = std::to_string(least + random() % most);
    }
    const auto topology = generate(kind.name, parameters);
    if (!topology) {
      EXPECT_TRUE(topology.error().kind == ErrorKind::impossible || topology.error().kind == ErrorKind::tooLarge)
          << topology.error().text();
      EXPECT_FALSE(topology.error().hint.empty()) << topology.error().text();
      continue;
    }
    ++made;
    std::string asked = kind.name;
    for (const auto& [name, value] : parameters) asked += " " + name + "=" + value;
    SCOPED_TRACE(asked);
    check_valid(*topology);
    if (HasFailure()) return;
  }
  EXPECT_GT(made, part_of_seeds(200));
}

}  // namespace
}  // namespace railweave::fabric::generate_test
