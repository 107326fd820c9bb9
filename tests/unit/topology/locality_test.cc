#include "fabric/topology/locality.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "tests/unit/topology/small_fabric.h"

namespace railweave::fabric::locality_test {
namespace {

using ::testing::ElementsAre;

Topology made(std::string_view kind, const GenerateParameters& parameters) {
  auto topology = generate(kind, parameters);
  EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
  return std::move(topology).value();
}

// "node 128, rack 32, leafGroup 4 = pod, cluster 1": kinds, group counts, and what coincides.
std::string outline(const Locality& locality) {
  std::string text;
  for (const auto& level : locality.levels) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(level.kind)) + " " + std::to_string(level.group_count);
    for (const auto kind : level.also) text += " = " + std::string(to_string(kind));
  }
  return text;
}

std::string outline(const Topology& topology) { return outline(derive_locality(topology)); }

TEST(Locality, FindsTheGroupsThatFabricsWereGeneratedWith) {
  EXPECT_EQ(outline(made("demo-hgx", {})), "node 128, rack 32, leafGroup 4, cluster 1 = pod");
  EXPECT_EQ(outline(made("demo-nvl72", {})), "node 144, nvlinkDomain 8 = rack = leafGroup, cluster 1 = pod");
  EXPECT_EQ(outline(made("rail-optimized", {{"hosts", "288"}, {"nvlink-domain", "576"}})),
            "node 288, rack 16 = leafGroup, nvlinkDomain 2, cluster 1 = pod");
  EXPECT_EQ(outline(made("rail-optimized", {{"hosts", "36"}, {"nvlink-domain", "36"}, {"hosts-per-unit", "18"}})),
            "node 36, nvlinkDomain 4 = rack, leafGroup 2, cluster 1 = pod");
  EXPECT_EQ(outline(made("fat-tree", {{"arity", "4"}, {"tiers", "3"}, {"gpus-per-host", "1"}})),
            "node 64, leafGroup 16, pod 4, cluster 1");
  EXPECT_EQ(outline(made("rail-only", {{"hosts", "32"}})), "node 32, cluster 1 = leafGroup = pod");
  EXPECT_EQ(outline(made("torus", {{"hosts-per-switch", "2"}})), "node 128, leafGroup 64, cluster 1 = pod");
  EXPECT_EQ(outline(made("torus", {})), "node 64 = leafGroup, cluster 1 = pod");
  EXPECT_EQ(outline(made("torus", {{"hosts-per-rack", "16"}})), "node 64 = leafGroup, rack 4, cluster 1 = pod");
  EXPECT_EQ(outline(made("dragonfly", {})), "node 72, leafGroup 36, pod 9, cluster 1");
  EXPECT_EQ(outline(made("dragonfly-plus", {{"planes", "2"}})), "node 272, leafGroup 68, pod 17, cluster 1");
}

TEST(Locality, FindsRacksUnitsAndPodsOfAHundredThousandGpus) {
  const auto topology = made("gpus-100k", {});
  const auto locality = derive_locality(topology);
  EXPECT_EQ(outline(locality), "node 12800, rack 3200, leafGroup 400, pod 13, cluster 1");
  ASSERT_FALSE(topology.hosts().empty());
  for (const auto host : topology.hosts()) {
    EXPECT_EQ(locality.find(LevelKind::leaf_group)->group_of_host[host.index()], host.index() / 32);
    EXPECT_EQ(locality.find(LevelKind::pod)->group_of_host[host.index()], host.index() / (32 * 32));
  }
}

TEST(Locality, SeparateClustersAreComponents) {
  const auto both = made("demo", {});
  std::vector<Finding> findings;
  const auto locality = derive_locality(both, &findings);
  EXPECT_TRUE(findings.empty());
  const Level* cluster = locality.find(LevelKind::cluster);
  ASSERT_NE(cluster, nullptr);
  EXPECT_EQ(cluster->group_count, 2U);
  EXPECT_THAT(cluster->group_names, ElementsAre("component-0", "component-1"));
  ASSERT_FALSE(both.hosts().empty());
  for (const auto host : both.hosts()) {
    EXPECT_EQ(cluster->group_of_host[host.index()], both.name(host).starts_with("gb-") ? 0U : 1U);
  }
}

TEST(Locality, FindReturnsTheLevelOfAKindThatCoincides) {
  const auto locality = derive_locality(made("demo-nvl72", {}));
  const Level* domain = locality.find(LevelKind::nvlink_domain);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(locality.find(LevelKind::rack), domain);
  EXPECT_EQ(locality.find(LevelKind::leaf_group), domain);
  EXPECT_EQ(locality.find(LevelKind::pod), locality.find(LevelKind::cluster));
  EXPECT_EQ(domain->group_names.front(), "gb-nvl72-1");
  EXPECT_EQ(derive_locality(made("torus", {})).find(LevelKind::rack), nullptr);
  EXPECT_EQ(derive_locality(made("torus", {})).find(LevelKind::nvlink_domain), nullptr);
}

TEST(Locality, StorageNetworksJoinNoLeafGroups) {
  const auto topology = made("rail-optimized", {{"hosts", "64"}, {"storage-servers", "6"}});
  const auto locality = derive_locality(topology);
  EXPECT_EQ(locality.find(LevelKind::leaf_group)->group_of_host[topology.find_host("node-01").index()],
            locality.find(LevelKind::leaf_group)->group_of_host[topology.find_host("node-32").index()]);
  EXPECT_NE(locality.find(LevelKind::leaf_group)->group_of_host[topology.find_host("node-01").index()],
            locality.find(LevelKind::leaf_group)->group_of_host[topology.find_host("node-33").index()]);
  EXPECT_EQ(locality.find(LevelKind::cluster)->group_count, 1U);  // storage servers included
}

TEST(Locality, HostsWithoutAnyNetworkAreOneCluster) {
  TopologyBuilder builder;
  for (const auto* name : {"a", "b", "c"}) {
    builder.add_gpu(builder.host(name));
    builder.set_rack(builder.host(name), builder.rack(*name == 'c' ? "r2" : "r1"));
  }
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(outline(*topology), "node 3, rack 2, cluster 1");
}

TEST(Locality, AHostWithoutCablesIsAGroupOfItsOwn) {
  SmallFabric fabric;
  for (int h = 0; h < 4; ++h) fabric.plug("n" + std::to_string(h), "mlx5_0", h < 2 ? "leaf-a" : "leaf-b");
  fabric.join("leaf-a", "leaf-b");
  fabric.host("unplugged");
  EXPECT_EQ(outline(fabric.build()), "node 5, leafGroup 3, cluster 2 = pod");
}

// A rail unit of `hosts` hosts on four leaves.
void add_unit(SmallFabric& fabric, const std::string& unit, int hosts) {
  for (int h = 0; h < hosts; ++h) {
    for (int r = 0; r < 4; ++r) {
      fabric.plug("n-" + unit + std::to_string(h), "mlx5_" + std::to_string(r), "leaf-" + unit + std::to_string(r));
    }
  }
  for (int r = 0; r < 4; ++r) {
    for (const std::string spine : {"spine-0", "spine-1"}) fabric.join("leaf-" + unit + std::to_string(r), spine);
  }
}

TEST(Locality, UntidyFabricsKeepTheirLeafGroups) {
  SmallFabric fabric;
  add_unit(fabric, "a", 6);
  add_unit(fabric, "b", 6);
  fabric.plug("short", "mlx5_0", "leaf-b0");  // a host short of rails
  fabric.plug("short", "mlx5_3", "leaf-b3");
  fabric.plug("astray", "mlx5_0", "leaf-a0");  // a cable in the neighbouring unit
  fabric.plug("astray", "mlx5_1", "leaf-b1");
  fabric.plug("astray", "mlx5_2", "leaf-b2");
  fabric.plug("astray", "mlx5_3", "leaf-b3");
  fabric.plug("ufm", "mlx5_0", "spine-0", HostKind::management);
  fabric.plug("nfs", "mlx5_0", "leaf-a1", HostKind::storage);
  fabric.plug("nfs", "mlx5_1", "leaf-b1", HostKind::storage);
  fabric.join("leaf-a0", "leaf-a1");  // a link between leaves
  const auto topology = fabric.build();
  const auto locality = derive_locality(topology);
  const Level* leaf_groups = locality.find(LevelKind::leaf_group);
  ASSERT_NE(leaf_groups, nullptr) << outline(locality);
  const auto group = [&](std::string_view host) {
    return leaf_groups->group_of_host[topology.find_host(host).index()];
  };
  EXPECT_EQ(group("n-a0"), group("n-a5"));
  EXPECT_NE(group("n-a0"), group("n-b0"));
  EXPECT_EQ(group("short"), group("n-b0"));
  EXPECT_EQ(group("astray"), group("n-b0"));
  EXPECT_EQ(group("nfs"), group("n-a0"));
  EXPECT_EQ(locality.find(LevelKind::pod)->group_count, 1U);
}

TEST(Locality, AHostOnACoreDoesNotMergePods) {
  SmallFabric fabric;
  for (const std::string pod : {"a", "b", "c"}) {
    for (int leaf = 0; leaf < 2; ++leaf) {
      const std::string leaf_name = "leaf-" + pod + std::to_string(leaf);
      for (int h = 0; h < 6; ++h) fabric.plug(leaf_name + "-n" + std::to_string(h), "mlx5_0", leaf_name);
      for (int spine = 0; spine < 2; ++spine) fabric.join(leaf_name, "spine-" + pod + std::to_string(spine));
    }
    for (int spine = 0; spine < 2; ++spine) {
      for (int core = 0; core < 2; ++core)
        fabric.join("spine-" + pod + std::to_string(spine), "core-" + std::to_string(core));
    }
    fabric.plug("monitor-" + pod, "mlx5_0", "spine-" + pod + "0");  // compute, by all one can tell
  }
  fabric.plug("ufm", "mlx5_0", "core-0", HostKind::management);
  fabric.join("spine-a0", "spine-b0");  // between spines of two pods
  const auto topology = fabric.build();
  const auto locality = derive_locality(topology);
  const Level* pods = locality.find(LevelKind::pod);
  ASSERT_NE(pods, nullptr);
  const auto pod_of = [&](std::string_view host) { return pods->group_of_host[topology.find_host(host).index()]; };
  EXPECT_EQ(pod_of("leaf-a0-n0"), pod_of("leaf-a1-n5"));
  EXPECT_EQ(pod_of("leaf-a0-n0"), pod_of("monitor-a"));
  EXPECT_NE(pod_of("leaf-a0-n0"), pod_of("leaf-b0-n0"));
  EXPECT_NE(pod_of("leaf-b0-n0"), pod_of("leaf-c0-n0"));
}

TEST(Locality, OverlappingLevelsAreLeftOutWithAFinding) {
  std::vector<Finding> findings;
  // Racks of 5 hosts, leaves of 4.
  const auto racks =
      made("fat-tree", {{"hosts", "40"}, {"gpus-per-host", "1"}, {"hosts-per-leaf", "4"}, {"hosts-per-rack", "5"}});
  EXPECT_EQ(outline(derive_locality(racks, &findings)), "node 40, leafGroup 10, cluster 1 = pod");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().code, "levelsNotNested");
  EXPECT_NE(findings.front().message.find("racks overlap leaf groups"), std::string::npos) << findings.front().message;
  ASSERT_EQ(findings.front().objects.size(), 1U);
  EXPECT_TRUE(findings.front().objects.front().starts_with("rack-"));

  // NVLink domains of 9 hosts over leaves of 4: the domains stay.
  findings.clear();
  const auto domains = made("fat-tree", {{"hosts", "36"}, {"nvlink-domain", "36"}, {"hosts-per-leaf", "4"}});
  EXPECT_EQ(outline(derive_locality(domains, &findings)), "node 36, nvlinkDomain 4 = rack, cluster 1 = pod");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings.front().message.find("leaf groups overlap NVLink domains"), std::string::npos);
}

TEST(Locality, RacksThatHoldSeparateClustersAreLeftOut) {
  SmallFabric fabric;
  for (const std::string island : {"a", "b"}) {
    for (int h = 0; h < 2; ++h) {
      const std::string name = island + std::to_string(h);
      fabric.plug(name, "mlx5_0", "leaf-" + island);
      fabric.builder.set_rack(fabric.host(name), fabric.builder.rack("r1"));
    }
  }
  std::vector<Finding> findings;
  const auto topology = fabric.build();
  EXPECT_EQ(outline(derive_locality(topology, &findings)), "node 4, cluster 2 = leafGroup = pod");
  EXPECT_EQ(findings.size(), 1U);
}

TEST(Locality, LevelsNestAndNumberGroupsInOrderOfTheirFirstHost) {
  for (const std::string kind :
       {"demo", "demo-hgx", "demo-nvl72", "dragonfly", "dragonfly-plus", "torus", "fat-tree"}) {
    const auto topology = made(kind, {});
    const auto locality = derive_locality(topology);
    ASSERT_GE(locality.levels.size(), 2U);
    EXPECT_EQ(locality.levels.front().kind, LevelKind::node);
    EXPECT_EQ(locality.levels.back().kind, LevelKind::cluster);
    const Level* below = nullptr;
    ASSERT_FALSE(locality.levels.empty());
    for (const auto& level : locality.levels) {
      ASSERT_EQ(level.group_of_host.size(), topology.hosts().size());
      EXPECT_EQ(level.group_names.size(), level.group_count);
      EXPECT_EQ(std::set<std::string>(level.group_names.begin(), level.group_names.end()).size(), level.group_count);
      std::uint32_t next = 0;
      for (const auto group : level.group_of_host) {
        ASSERT_LE(group, next);
        if (group == next) ++next;
      }
      EXPECT_EQ(next, level.group_count);
      if (below != nullptr) {
        EXPECT_LT(level.group_count, below->group_count);
        std::map<std::uint32_t, std::set<std::uint32_t>> above;
        for (std::size_t h = 0; h < level.group_of_host.size(); ++h) {
          above[below->group_of_host[h]].insert(level.group_of_host[h]);
        }
        ASSERT_FALSE(above.empty());
        for (const auto& [group, outer] : above) EXPECT_EQ(outer.size(), 1U);
      }
      below = &level;
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::locality_test
