// Sites of hosts and switches, and the levels derived from them, against a search over cables and sites that shares no
// code.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/formats/native/native_json.h"
#include "fabric/generate/generate.h"
#include "fabric/topology/locality.h"
#include "fabric/topology/replace_subnet.h"
#include "fabric/topology/site_link_name.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::sites_test {
namespace {

SwitchDraft leaf(TopologyBuilder& builder, const std::string& name, SiteId site = {}) {
  return builder.add_switch({.guid = Guid(0x100 + builder.switch_count()),
                             .name = name,
                             .ports = 64,
                             .subnet = builder.subnet("net-" + name),
                             .site = site});
}

HostDraft host(TopologyBuilder& builder, const std::string& name) {
  const HostDraft draft = builder.host(name);
  builder.add_gpu(draft);
  return draft;
}

void plug(TopologyBuilder& builder, HostDraft host, SwitchDraft sw, unsigned port, std::uint64_t guid = 0x9000) {
  const HcaDraft hca = builder.add_hca({.guid = Guid(guid + builder.hca_count()), .host = host, .device = "mlx5_0"});
  builder.connect({sw, port}, {hca, 1}, infiniband_link(4, LinkSpeed::ndr));
}

SiteLink joined(SiteId a, SiteId b, float km = 80) {
  return {.a = a, .b = b, .links = 8, .rate = from_gbps(400), .length_km = km, .latency_us = km * SiteLink::kUsPerKm};
}

TEST(Sites, NamingTheSiteOfOneSwitchIsEnough) {
  TopologyBuilder builder;
  const SiteId west = builder.site("west"), east = builder.site("east");
  const auto a = leaf(builder, "a", west), b = leaf(builder, "b", east), spine = leaf(builder, "spine");
  builder.connect({a, 60}, {spine, 1}, infiniband_link(4, LinkSpeed::ndr));
  for (unsigned i = 1; i <= 3; ++i) plug(builder, host(builder, "w" + std::to_string(i)), a, i);
  for (unsigned i = 1; i <= 2; ++i) plug(builder, host(builder, "e" + std::to_string(i)), b, i);
  // A second rail, which only hosts join with the first.
  plug(builder, builder.find_host("w3"), leaf(builder, "rail"), 1);
  builder.join_sites(joined(west, east));
  builder.join_sites(joined(east, east));
  const Topology topology = std::move(builder).build().value();
  ASSERT_EQ(topology.sites().size(), 2U);
  EXPECT_EQ(topology.name(SiteId(0)), "east");  // natural order, whatever came first
  EXPECT_EQ(topology.name(topology.site(topology.find_host("w2"))), "west");
  EXPECT_EQ(topology.name(topology.site(topology.find_host("e1"))), "east");
  EXPECT_EQ(topology.name(topology.site(topology.find_switch("spine"))), "west");
  EXPECT_EQ(topology.name(topology.site(topology.find_switch("rail"))), "west");
  ASSERT_EQ(topology.site_links().size(), 1U);
  EXPECT_EQ(topology.site_links()[0].a, SiteId(0));
  EXPECT_EQ(topology.site_links()[0].total_mbps(), 3.2e6);
  EXPECT_EQ(topology.site_links()[0].latency_us, 400);
  ASSERT_EQ(topology.source_findings().size(), 1U);
  EXPECT_EQ(topology.source_findings()[0].code, "siteLinkToItself");

  // A new host on the west leaf, as a sweep finds it, is in the west.
  TopologyBuilder sweep;
  const auto again = sweep.add_switch({.guid = Guid(0x100), .name = "a", .ports = 64, .subnet = sweep.subnet("net-a")});
  plug(sweep, host(sweep, "w9"), again, 9, 0xa000);
  const auto found = std::move(sweep).build().value();
  SubnetReplacement replaced = replace_subnet(topology, found, "net-a");
  const Topology after = std::move(replaced.builder).build().value();
  EXPECT_EQ(after.name(after.site(after.find_host("w9"))), "west");
  EXPECT_EQ(after.name(after.site(after.find_host("e2"))), "east");
  EXPECT_EQ(after.site_links().size(), 1U);
}

TEST(Sites, LinksBetweenThemHaveIdsThatNoCableHas) {
  TopologyBuilder builder;
  // A cable and two sites of the same name.
  const SiteId near = builder.site("leaf-1/60"), far = builder.site("spine-1/1"), other = builder.site("other");
  const auto a = leaf(builder, "leaf-1", near), spine = leaf(builder, "spine-1", near);
  builder.connect({a, 60}, {spine, 1}, infiniband_link(4, LinkSpeed::ndr));
  builder.join_sites(joined(near, far));
  builder.join_sites(joined(other, near, 100));
  builder.join_sites(joined(other, near, 90));
  const Topology topology = std::move(builder).build().value();
  ASSERT_TRUE(topology.find_link("leaf-1/60--spine-1/1"));
  std::set<std::string> ids;
  for (const auto link : site_link_ids(topology)) {
    const std::string id = site_link_text(topology, link);
    EXPECT_EQ(find_site_link(topology, id), link) << id;
    EXPECT_FALSE(topology.find_link(id)) << id;
    ids.insert(id);
  }
  EXPECT_EQ(ids, (std::set<std::string>{"wan:leaf-1/60--spine-1/1", "leaf-1/60--other/1", "leaf-1/60--other/2"}));
  EXPECT_EQ(topology.site_links()[find_site_link(topology, "other--leaf-1/60/2").index()].length_km, 100);
  EXPECT_FALSE(find_site_link(topology, "spine-1/1--leaf-1/60")) << "the cable's, from its other end";
  EXPECT_FALSE(find_site_link(topology, "leaf-1/60--other/3"));
}

TEST(Sites, AFabricWithoutSitesHasNoSiteLevels) {
  const Topology topology = generate("rail-optimized", {{"hosts", "8"}}).value();
  const Locality locality = derive_locality(topology);
  EXPECT_EQ(locality.find(LevelKind::site), nullptr);
  EXPECT_EQ(locality.find(LevelKind::wan), nullptr);
  EXPECT_EQ(locality.levels.back().kind, LevelKind::cluster);
}

TEST(Sites, AClusterIsWithinOneSiteAndTheWanJoinsSites) {
  const Topology topology = generate("rail-optimized", {{"hosts", "8"}, {"sites", "3"}}).value();
  std::vector<Finding> findings;
  const Locality locality = derive_locality(topology, &findings);
  EXPECT_TRUE(findings.empty());
  const Level* cluster = locality.find(LevelKind::cluster);
  EXPECT_EQ(cluster->group_count, 3U);
  EXPECT_EQ(locality.find(LevelKind::site), cluster);
  EXPECT_EQ(cluster->group_names, (std::vector<std::string>{"site-1", "site-2", "site-3"}));
  ASSERT_EQ(locality.levels.back().kind, LevelKind::wan);
  EXPECT_EQ(locality.levels.back().group_count, 1U);
}

TEST(Sites, FindingsNameDisconnectedSitesAndHostsWithoutASite) {
  TopologyBuilder builder;
  const SiteId site = builder.site("a"), other = builder.site("b");
  plug(builder, host(builder, "x"), leaf(builder, "x", site), 1);
  plug(builder, host(builder, "y"), leaf(builder, "y", site), 1);
  plug(builder, host(builder, "z"), leaf(builder, "z"), 1);
  plug(builder, host(builder, "v"), leaf(builder, "v", other), 1);
  std::vector<Finding> findings;
  const Locality locality = derive_locality(std::move(builder).build().value(), &findings);
  std::set<std::string> codes;
  for (const auto& finding : findings) codes.insert(finding.code);
  EXPECT_EQ(codes, (std::set<std::string>{"hostsWithoutSite", "siteFallsApart"}));
  EXPECT_EQ(locality.find(LevelKind::cluster)->group_count, 4U);
  EXPECT_EQ(locality.find(LevelKind::site)->group_count, 3U);
  EXPECT_EQ(locality.find(LevelKind::wan), nullptr);  // nothing joins sites
}

// Random sites, cables and links between sites, some of them wrong.
struct RandomSites {
  std::vector<SiteId> site_of;                             // by leaf
  std::vector<std::size_t> leaf_of;                        // by host
  std::map<std::size_t, std::set<std::size_t>> cabled;     // leaf to leaf
  std::map<std::size_t, std::set<std::size_t>> joined_to;  // site to site
  Topology topology;
};

RandomSites random_sites(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RandomSites made{.topology = empty_topology()};
  TopologyBuilder builder;
  const std::size_t sites = 1 + random() % 4, leaves = 1 + random() % 6, hosts = 2 + random() % 8;
  for (std::size_t s = 0; s < sites; ++s) builder.site("s" + std::to_string(s));
  std::vector<SwitchDraft> switches;
  for (std::size_t i = 0; i < leaves; ++i) {
    made.site_of.emplace_back(random() % sites);
    switches.push_back(leaf(builder, "l" + std::to_string(i), made.site_of.back()));
  }
  for (std::size_t i = 0; i + 1 < leaves; ++i) {
    const std::size_t to = i + 1 + random() % (leaves - i - 1);
    if (random() % 3 == 0) continue;  // also cables between sites, which join nothing
    builder.connect({switches[i], static_cast<unsigned>(40 + to)}, {switches[to], static_cast<unsigned>(50 + i)},
                    infiniband_link(4, LinkSpeed::ndr));
    made.cabled[i].insert(to);
    made.cabled[to].insert(i);
  }
  for (std::size_t h = 0; h < hosts; ++h) {
    made.leaf_of.push_back(random() % leaves);
    plug(builder, host(builder, "h" + std::to_string(h)), switches[made.leaf_of.back()], static_cast<unsigned>(h + 1));
  }
  for (std::size_t s = 0; s + 1 < sites; ++s) {
    if (random() % 3 == 0) continue;
    builder.join_sites(joined(SiteId(s), SiteId(s + 1)));
    made.joined_to[s].insert(s + 1);
    made.joined_to[s + 1].insert(s);
  }
  made.topology = std::move(builder).build().value();
  return made;
}

std::set<std::size_t> reachable(std::size_t from, std::map<std::size_t, std::set<std::size_t>>& next) {
  std::set<std::size_t> found{from};
  for (std::vector<std::size_t> open{from}; !open.empty();) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t to : next[at]) {
      if (found.insert(to).second) open.push_back(to);
    }
  }
  return found;
}

// Two hosts share a group exactly if a search reaches one from the other within a site, or over long-haul links too.
void expect_groups_of_search(RandomSites& made, const Locality& locality) {
  const Level* cluster = locality.find(LevelKind::cluster);
  const Level* site = locality.find(LevelKind::site);
  const Level* wan = locality.find(LevelKind::wan);
  ASSERT_NE(site, nullptr);
  const std::size_t hosts = made.leaf_of.size();
  const auto id = [&](std::size_t h) { return made.topology.find_host("h" + std::to_string(h)); };
  for (std::size_t a = 0; a < hosts; ++a) {
    const std::size_t site_a = made.site_of[made.leaf_of[a]].index();
    const auto reached = reachable(made.leaf_of[a], made.cabled);
    const auto sites_reached = reachable(site_a, made.joined_to);
    for (std::size_t b = 0; b < hosts; ++b) {
      const std::size_t site_b = made.site_of[made.leaf_of[b]].index();
      const auto same = [&](const Level* level) {
        return level->group_of_host[id(a).index()] == level->group_of_host[id(b).index()];
      };
      ASSERT_EQ(same(cluster), site_a == site_b && reached.contains(made.leaf_of[b]));
      ASSERT_EQ(same(site), site_a == site_b);
      if (wan != nullptr) {
        ASSERT_EQ(same(wan), sites_reached.contains(site_b));
      }
      if (wan == nullptr) {
        ASSERT_TRUE(site_a == site_b || !sites_reached.contains(site_b));
      }
    }
  }
}

void expect_nested(const Locality& locality, std::size_t hosts) {
  ASSERT_FALSE(locality.levels.empty());
  for (std::size_t level = 1; level < locality.levels.size(); ++level) {
    std::map<std::uint32_t, std::uint32_t> above;
    for (std::size_t h = 0; h < hosts; ++h) {
      const auto inner = locality.levels[level - 1].group_of_host[h];
      const auto outer = locality.levels[level].group_of_host[h];
      ASSERT_EQ(above.try_emplace(inner, outer).first->second, outer);
    }
  }
}

TEST(Sites, LevelsAreThoseOfASearch) {
  int spanning = 0, apart = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomSites made = random_sites(seed);
    const Locality locality = derive_locality(made.topology);
    expect_groups_of_search(made, locality);
    expect_nested(locality, made.leaf_of.size());
    if (HasFatalFailure()) return;
    spanning += locality.find(LevelKind::wan) != nullptr ? 1 : 0;
    apart += locality.find(LevelKind::site) != locality.find(LevelKind::cluster) ? 1 : 0;
  }
  EXPECT_GT(spanning, 100);
  EXPECT_GT(apart, 50);
}

}  // namespace
}  // namespace railweave::fabric::sites_test
