#include "fabric/topology/rails.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "tests/unit/topology/small_fabric.h"

namespace railweave::fabric::rails_test {
namespace {

std::string rail_name(const Topology& topology, std::string_view host_name, std::string_view device) {
  const HostId host = topology.find_host(host_name);
  if (!host) return "no host";
  for (const auto hca : topology.hcas(host)) {
    if (topology.device(hca) != device) continue;
    const RailId rail = topology.rail(topology.ports(hca).front());
    return rail ? std::string(topology.name(rail)) : "none";
  }
  return "no device";
}

TEST(DeviceOrdinal, IsThePlaceWithinTheHost) {
  EXPECT_EQ(device_ordinal("mlx5_5"), 5U);
  EXPECT_EQ(device_ordinal("HCA-6"), 5U);
  EXPECT_EQ(device_ordinal("mlx5_0"), 0U);
  EXPECT_EQ(device_ordinal("HCA-1"), 0U);
  EXPECT_EQ(device_ordinal("bnxt_re12"), 12U);
  EXPECT_EQ(device_ordinal(""), std::nullopt);
  EXPECT_EQ(device_ordinal("ConnectX"), std::nullopt);
  EXPECT_EQ(device_ordinal("HCA-0"), std::nullopt);
  EXPECT_EQ(device_ordinal("x99999999999999"), std::nullopt);
}

// One host per row of four adapters on the leaves of its unit, "u<unit>-<place>".
void add_unit(SmallFabric& fabric, const std::string& unit, unsigned hosts, const std::vector<std::string>& devices) {
  for (unsigned h = 0; h < hosts; ++h) {
    for (std::size_t r = 0; r < devices.size(); ++r) {
      fabric.plug("dgx-" + unit + "-" + std::to_string(h), devices[r], "leaf-" + unit + "-" + std::to_string(r));
    }
  }
  for (std::size_t r = 0; r < devices.size(); ++r) {
    fabric.join("leaf-" + unit + "-" + std::to_string(r), "spine-1");
    fabric.join("leaf-" + unit + "-" + std::to_string(r), "spine-2");
  }
}

TEST(Rails, AreOneAcrossUnitsThatNameTheirDevicesDifferently) {
  SmallFabric fabric;
  add_unit(fabric, "a", 6, {"mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"});
  add_unit(fabric, "b", 5, {"HCA-1", "HCA-2", "HCA-5", "HCA-6"});
  const auto topology = fabric.build();
  ASSERT_EQ(topology.rails().size(), 4U);
  EXPECT_TRUE(topology.rails_inferred());
  EXPECT_EQ(topology.rail_confidence(), 1);
  EXPECT_EQ(rail_name(topology, "dgx-a-0", "mlx5_5"), "rail-3");
  EXPECT_EQ(rail_name(topology, "dgx-b-0", "HCA-6"), "rail-3");
  EXPECT_EQ(rail_name(topology, "dgx-a-1", "mlx5_0"), "rail-0");
  EXPECT_EQ(rail_name(topology, "dgx-b-1", "HCA-5"), "rail-2");
}

TEST(Rails, AMissingLeafDoesNotRenameTheOthers) {
  SmallFabric fabric;
  add_unit(fabric, "a", 6, {"mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"});
  add_unit(fabric, "b", 6, {"mlx5_0", "mlx5_1", "mlx5_5"});
  const auto topology = fabric.build();
  ASSERT_EQ(topology.rails().size(), 4U);
  EXPECT_EQ(rail_name(topology, "dgx-b-0", "mlx5_5"), "rail-3");
}

TEST(Rails, OtherDeviceNumbersInOneUnitDoNotMakeMoreRails) {
  SmallFabric fabric;
  add_unit(fabric, "a", 6, {"mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"});
  add_unit(fabric, "b", 6, {"mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"});
  add_unit(fabric, "c", 6, {"mlx5_0", "mlx5_3", "mlx5_6", "mlx5_9"});
  const auto topology = fabric.build();
  EXPECT_EQ(topology.rails().size(), 4U);
  EXPECT_EQ(rail_name(topology, "dgx-c-0", "mlx5_3"), "rail-1");
  EXPECT_EQ(rail_name(topology, "dgx-c-0", "mlx5_9"), "rail-3");
}

TEST(Rails, SwappedCablesAreOutvotedAndLowerTheConfidence) {
  SmallFabric fabric;
  add_unit(fabric, "a", 6, {"mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"});
  add_unit(fabric, "b", 6, {"mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"});
  fabric.plug("dgx-b-6", "mlx5_0", "leaf-b-0");
  fabric.plug("dgx-b-6", "mlx5_1", "leaf-b-1");
  fabric.plug("dgx-b-6", "mlx5_4", "leaf-b-3");
  fabric.plug("dgx-b-6", "mlx5_5", "leaf-b-2");
  const auto topology = fabric.build();
  ASSERT_EQ(topology.rails().size(), 4U);
  EXPECT_EQ(rail_name(topology, "dgx-b-6", "mlx5_4"), "rail-3");  // where it is, not where it should be
  EXPECT_EQ(rail_name(topology, "dgx-b-0", "mlx5_4"), "rail-2");
  EXPECT_NEAR(topology.rail_confidence(), 50.0 / 52, 1e-9);
}

TEST(Rails, ManagementAndUnnamedHostsDoNotCount) {
  SmallFabric fabric;
  add_unit(fabric, "a", 6, {"mlx5_0", "mlx5_1"});
  add_unit(fabric, "b", 6, {"mlx5_0", "mlx5_1"});
  fabric.plug("ufm", "mlx5_0", "leaf-a-1", HostKind::management);
  fabric.plug("ufm", "mlx5_1", "leaf-b-0", HostKind::management);
  for (int i = 0; i < 40; ++i) fabric.plug("unnamed-" + std::to_string(i), "", "leaf-a-0", HostKind::unnamed);
  const auto topology = fabric.build();
  EXPECT_EQ(topology.rails().size(), 2U);
  EXPECT_EQ(topology.rail_confidence(), 1);
  EXPECT_EQ(rail_name(topology, "unnamed-3", ""), "rail-0");  // it is cabled to that rail's leaf nevertheless
}

TEST(Rails, SeparateNetworksAreRailsWhateverTheDeviceNames) {
  SmallFabric fabric;
  for (const std::string unit : {"a", "b", "c"}) {
    for (unsigned h = 0; h < 4; ++h) {
      for (unsigned r = 0; r < 3; ++r)
        fabric.plug("n-" + unit + std::to_string(h), "", "leaf-" + unit + std::to_string(r));
    }
    for (unsigned r = 0; r < 3; ++r) fabric.join("leaf-" + unit + std::to_string(r), "spine-" + std::to_string(r));
  }
  const auto topology = fabric.build();
  ASSERT_EQ(topology.rails().size(), 3U);
  EXPECT_EQ(topology.rail_confidence(), 1);
  std::map<SwitchId, std::set<RailId>> rails_of_spine;
  for (const auto port : topology.hca_ports()) {
    const SwitchId leaf = topology.switch_of(topology.peer(port));
    for (const auto up : topology.ports(leaf)) {
      const PortId peer = topology.peer(up);
      if (peer && topology.is_switch_port(peer)) rails_of_spine[topology.switch_of(peer)].insert(topology.rail(port));
    }
  }
  ASSERT_FALSE(rails_of_spine.empty());
  for (const auto& [spine, rails] : rails_of_spine) EXPECT_EQ(rails.size(), 1U);
}

TEST(Rails, FabricsWithoutRailsHaveNone) {
  for (const std::string kind : {"fat-tree", "dragonfly", "dragonfly-plus", "torus"}) {
    for (const std::string nics : {"1", "8"}) {
      const auto topology = generate(kind, {{"nics-per-host", nics}});
      ASSERT_TRUE(topology.has_value());
      EXPECT_EQ(topology->rails().size(), 0U) << kind << ' ' << nics;
      EXPECT_FALSE(topology->rails_inferred());
      EXPECT_EQ(topology->rail_confidence(), 0);
    }
  }
}

TEST(Rails, AFewHostsOnTwoLeavesMakeNoRails) {
  SmallFabric fabric;
  for (int leaf = 0; leaf < 4; ++leaf) {
    for (int h = 0; h < 10; ++h)
      fabric.plug("n-" + std::to_string(leaf * 10 + h), "mlx5_0", "leaf-" + std::to_string(leaf));
    fabric.join("leaf-" + std::to_string(leaf), "spine");
  }
  fabric.plug("nfs", "mlx5_0", "leaf-0");
  fabric.plug("nfs", "mlx5_1", "leaf-1");
  fabric.plug("login", "mlx5_0", "leaf-3");
  fabric.plug("login", "mlx5_1", "spine");
  EXPECT_EQ(fabric.build().rails().size(), 0U);
}

TEST(Rails, NamedRailsAreKept) {
  const auto topology = generate("rail-optimized", {{"hosts", "16"}});
  ASSERT_TRUE(topology.has_value());
  EXPECT_FALSE(topology->rails_inferred());
  EXPECT_EQ(topology->rail_confidence(), 1);
}

// A rail-optimized fabric rebuilt without its rails' names: adapters removed and devices renamed at random.
struct Rebuilt {
  TopologyBuilder builder;
  std::map<Guid, std::size_t> true_rail;  // of every adapter kept
  std::map<Guid, std::size_t> unit;
};

struct Damage {
  double removed = 0;
  bool shuffle_devices = false;
};

Rebuilt rebuild(const Topology& original, const Damage& damage, std::mt19937& random) {
  Rebuilt result;
  std::map<SwitchId, SwitchDraft> switches;
  std::vector<SwitchId> order;
  for (const auto sw : original.switches()) order.push_back(sw);
  std::ranges::shuffle(order, random);
  for (const auto sw : order) {
    switches[sw] = result.builder.add_switch({.guid = original.guid(sw),
                                              .name = original.name(sw),
                                              .ports = static_cast<unsigned>(original.ports(sw).size())});
  }
  for (const auto host : original.hosts()) {
    std::vector<std::string> devices;
    for (std::size_t i = 0; i < original.hcas(host).size(); ++i) devices.push_back("mlx5_" + std::to_string(i));
    if (damage.shuffle_devices) std::ranges::shuffle(devices, random);
    const HostDraft draft = result.builder.host(original.name(host));
    std::size_t n = 0;
    for (const auto hca : original.hcas(host)) {
      const std::string device = devices[n++];
      if (std::uniform_real_distribution<>()(random) < damage.removed) continue;
      const HcaDraft kept = result.builder.add_hca({.guid = original.guid(hca), .host = draft, .device = device});
      const PortId port = original.ports(hca).front();
      const PortId peer = original.peer(port);
      result.builder.connect({switches[original.switch_of(peer)], original.number(peer)}, {kept, 1},
                             infiniband_link(4, LinkSpeed::ndr));
      result.true_rail[original.guid(hca)] = original.rail(port).index();
    }
  }
  for (const auto link : original.links()) {
    if (!original.joins_switches(link)) continue;
    const PortId a = original.a(link);
    const PortId b = original.b(link);
    result.builder.connect({switches[original.switch_of(a)], original.number(a)},
                           {switches[original.switch_of(b)], original.number(b)}, original.spec(link));
  }
  return result;
}

struct RailCase {
  unsigned rails, hosts, per_unit;
  bool planes;
  Damage damage;
};

std::ostream& operator<<(std::ostream& out, const RailCase& tested) {
  return out << tested.rails << " rails, " << tested.hosts << " hosts";
}

class RandomRails : public ::testing::TestWithParam<RailCase> {};

TEST_P(RandomRails, AreFoundAgain) {
  const auto& tested = GetParam();
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto original = generate("rail-optimized", {{"hosts", std::to_string(tested.hosts)},
                                                      {"rails", std::to_string(tested.rails)},
                                                      {"planes", tested.planes ? std::to_string(tested.rails) : "1"},
                                                      {"hosts-per-unit", std::to_string(tested.per_unit)}});
    ASSERT_TRUE(original.has_value()) << original.error().text();
    Rebuilt rebuilt = rebuild(*original, tested.damage, random);
    const auto topology = std::move(rebuilt.builder).build();
    ASSERT_TRUE(topology.has_value());
    ASSERT_EQ(topology->rails().size(), tested.rails);

    // Whatever the names, adapters on one leaf are on one rail and those of one host on different ones.
    std::map<SwitchId, std::set<RailId>> rails_of_leaf;
    ASSERT_FALSE(topology->hosts().empty());
    for (const auto host : topology->hosts()) {
      std::set<RailId> rails;
      for (const auto hca : topology->hcas(host)) {
        const PortId port = topology->ports(hca).front();
        ASSERT_TRUE(topology->rail(port).valid());
        EXPECT_TRUE(rails.insert(topology->rail(port)).second);
        rails_of_leaf[topology->switch_of(topology->peer(port))].insert(topology->rail(port));
      }
    }
    ASSERT_FALSE(rails_of_leaf.empty());
    for (const auto& [leaf, rails] : rails_of_leaf) EXPECT_EQ(rails.size(), 1U);

    // Where networks or device names tell, they are the true ones across units.
    const bool told = tested.planes || !tested.damage.shuffle_devices;
    if (!told) {
      EXPECT_LT(topology->rail_confidence(), 0.8);
      continue;
    }
    EXPECT_GT(topology->rail_confidence(), 0.99);
    std::map<std::size_t, std::set<RailId>> found;
    for (const auto hca : topology->hcas()) {
      found[rebuilt.true_rail.at(topology->guid(hca))].insert(topology->rail(topology->ports(hca).front()));
    }
    ASSERT_FALSE(found.empty());
    for (const auto& [rail, names] : found) {
      ASSERT_EQ(names.size(), 1U);
      if (!tested.damage.shuffle_devices) {
        EXPECT_EQ(names.begin()->index(), rail);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Damaged, RandomRails,
    ::testing::Values(RailCase{8, 60, 12, false, {0, false}}, RailCase{8, 60, 12, false, {0.15, false}},
                      RailCase{4, 90, 18, false, {0.1, true}}, RailCase{8, 60, 20, true, {0.15, true}},
                      RailCase{2, 40, 10, true, {0, true}}, RailCase{4, 64, 16, true, {0.1, false}}),
    [](const auto& tested) {
      return std::to_string(tested.param.rails) + "Rails" + (tested.param.planes ? "Apart" : "Joined") +
             (tested.param.damage.removed > 0 ? "WithGaps" : "") +
             (tested.param.damage.shuffle_devices ? "Shuffled" : "");
    });

}  // namespace
}  // namespace railweave::fabric::rails_test
