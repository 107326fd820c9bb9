// Two fabrics in one import, which share no hosts: what is inferred and found of each is what it is alone, whatever the other is.
#include "fabric/topology/rail_islands.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/formats/sources/site_import.h"
#include "fabric/topology/checks/checks.h"
#include "tests/unit/topology/small_fabric.h"

namespace railweave::fabric::rail_islands_test {
namespace {

// A rail-optimized fabric with crossed and missing cables.
struct Site {
  std::string name;
  unsigned units, hosts, rails;
  std::vector<unsigned> devices;  // of each rail, the number of its device
  std::uint64_t seed;
};

void add(SmallFabric& fabric, const Site& site) {
  std::mt19937_64 random(site.seed);
  unsigned number = 0;
  for (unsigned unit = 0; unit < site.units; ++unit) {
    const auto leaf = [&](unsigned rail) {
      return site.name + "-leaf-" + std::to_string(unit) + "-" + std::to_string(rail);
    };
    for (unsigned h = 0; h < site.hosts; ++h) {
      std::vector<unsigned> on(site.rails);
      for (unsigned r = 0; r < site.rails; ++r) on[r] = r;
      if (random() % 12 == 0) std::swap(on[random() % site.rails], on[random() % site.rails]);
      const unsigned missing = random() % 15 == 0 ? random() % site.rails : site.rails;
      const std::string host = "dgx-" + site.name + std::to_string(++number);  // one family: names differ in numbers
      for (unsigned r = 0; r < site.rails; ++r) {
        if (r != missing) fabric.plug(host, "mlx5_" + std::to_string(site.devices[r]), leaf(on[r]));
      }
    }
    for (unsigned r = 0; r < site.rails; ++r) {
      for (unsigned spine = 0; spine < 2; ++spine)
        fabric.join(leaf(r), site.name + "-spine-" + std::to_string(spine), 2);
    }
  }
}

// The rail of each port by its name, by host and device.
std::map<std::string, std::string> rails_of(const Topology& topology) {
  std::map<std::string, std::string> rails;
  for (const PortId port : topology.hca_ports()) {
    const HcaId hca = topology.hca_of(port);
    if (!topology.host(hca)) continue;
    const RailId rail = topology.rail(port);
    rails[std::string(topology.name(topology.host(hca))) + "/" + std::string(topology.device(hca))] =
        rail ? topology.name(rail) : "none";
  }
  return rails;
}

// What is wrong: codes with their objects, by the names of hosts and devices.
std::multiset<std::string> wrong_with(const Topology& topology) {
  std::multiset<std::string> wrong;
  for (const Finding& finding : check_fabric(topology)) {
    if (finding.severity == Severity::info || finding.code == "severalComponents") continue;
    for (const std::string& object : finding.objects) {
      const auto slash = object.find('/');
      const auto guid = slash == std::string::npos ? std::nullopt : parse_guid(object.substr(0, slash));
      const HcaId hca = guid ? topology.find_hca(*guid) : HcaId();
      wrong.insert(
          finding.code + " " +
          (hca ? std::string(topology.name(topology.host(hca))) + " " + std::string(topology.device(hca)) : object));
    }
  }
  return wrong;
}

Site random_site(const std::string& name, std::mt19937_64& random) {
  Site site{name,
            1 + static_cast<unsigned>(random() % 3),
            6 + static_cast<unsigned>(random() % 14),
            2 + static_cast<unsigned>(random() % 7),
            {},
            random()};
  std::vector<unsigned> numbers(12);
  for (unsigned i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::ranges::shuffle(numbers, random);
  site.devices.assign(numbers.begin(), numbers.begin() + site.rails);
  return site;
}

TEST(RailIslands, TwoSitesAreInferredAsEachAlone) {
  std::size_t wrong_cables = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<Site> sites{random_site("", random), random_site("9", random)};
    SmallFabric both;
    std::map<std::string, std::string> rails;
    std::multiset<std::string> wrong;
    for (const Site& site : sites) {
      SmallFabric alone;
      add(alone, site);
      const Topology topology = alone.build();
      rails.merge(rails_of(topology));
      wrong.merge(wrong_with(topology));
      add(both, site);
    }
    const Topology topology = both.build();
    EXPECT_EQ(rails_of(topology), rails);
    EXPECT_EQ(wrong_with(topology), wrong);
    wrong_cables += wrong.size();
  }
  EXPECT_GT(wrong_cables, 100U);
}

TEST(RailIslands, AGatewayOnBothJoinsNone) {
  SmallFabric both;
  add(both, {"a", 2, 8, 4, {0, 1, 2, 3}, 1});
  add(both, {"b", 2, 8, 4, {5, 6, 7, 8}, 1});
  both.plug("gateway", "mlx5_0", "a-leaf-0-0", HostKind::storage);
  both.plug("gateway", "mlx5_1", "b-leaf-0-0", HostKind::storage);
  const Topology topology = both.build();
  const auto islands = rail_islands(topology);
  EXPECT_NE(islands[topology.find_switch("a-leaf-0-0").index()], islands[topology.find_switch("b-leaf-0-0").index()]);
  EXPECT_EQ(islands[topology.find_switch("a-leaf-0-0").index()], islands[topology.find_switch("a-leaf-1-3").index()]);
  EXPECT_EQ(topology.rails().size(), 4U);
}

TEST(RailIslands, OneNetworkPerRailIsOneIsland) {
  SmallFabric fabric;
  for (int h = 0; h < 8; ++h) {
    for (int r = 0; r < 4; ++r) {
      fabric.plug("n" + std::to_string(h), "mlx5_" + std::to_string(r), "leaf-" + std::to_string(r));
    }
  }
  const Topology topology = fabric.build();
  EXPECT_THAT(rail_islands(topology), ::testing::Each(0U));
  EXPECT_EQ(topology.rails().size(), 4U);
}

// Dumps of real fabrics, each alone and each two of them at once.
TEST(RailIslands, RealDumpsAreFoundFaultyAsEachAlone) {
  const std::filesystem::path folder = std::filesystem::path(RAILWEAVE_SHARED_DATA) / "ib";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs " << folder;
  const std::vector<std::string> names{"dgx-h100-ndr.ibnetdiscover", "selene.storage", "loginoff.ibnetdiscover",
                                       "psmn-x5.ibnetdiscover", "k-4-n-3-full.ibnetdiscover"};
  std::vector<std::string> texts;
  for (const std::string& name : names) {
    std::ifstream in(folder / (name + ".txt"), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::vector<SiteSource> sources;
  for (std::size_t i = 0; i < names.size(); ++i) {
    sources.push_back({.name = names[i], .device = names[i], .text = texts[i]});
    sources.back().recognised.kind = SourceKind::ibnetdiscover;
  }
  const auto wrong_of = [](const std::vector<SiteSource>& some) {
    const auto site = import_site(some, {});
    EXPECT_TRUE(site) << (site ? "" : site.error().text());
    return wrong_with(*site->topology);
  };
  std::vector<std::multiset<std::string>> alone;
  for (const SiteSource& source : sources) alone.push_back(wrong_of({source}));
  EXPECT_GE(alone[0].size(), 14U);  // 10 hosts short of a rail, two ports crossed and so on odd rails, uplinks
  for (std::size_t a = 0; a < sources.size(); ++a) {
    for (std::size_t b = 0; b < sources.size(); ++b) {
      if (a == b) continue;
      std::multiset<std::string> wrong = alone[a];
      wrong.insert(alone[b].begin(), alone[b].end());
      EXPECT_EQ(wrong_of({sources[a], sources[b]}), wrong) << sources[a].name << ", " << sources[b].name;
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::rail_islands_test
