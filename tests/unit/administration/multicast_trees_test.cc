// Trees of multicast groups on random graphs of switches: a packet is flooded as switches do it, port by port, and each receiver is to
// get it once from each sender, and no other port anything.
#include "fabric/drivers/infiniband/administration/multicast_trees.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"

namespace railweave::fabric::infiniband::multicast_trees_test {
namespace {

using End = std::pair<std::uint32_t, unsigned>;  // switch and port

struct Fabric {
  SwitchGraph graph;
  std::map<End, End> cables;
  std::vector<unsigned> ports;      // used, by switch
  std::vector<std::uint32_t> part;  // by switch: those with the same are connected
  std::vector<std::uint32_t> calm;  // the same without the cables that are to be avoided
  std::set<End> avoided;            // both ends of these
  std::vector<MulticastPlace> members;

  explicit Fabric(std::mt19937& random) {
    const std::uint32_t count = 1 + random() % 14;
    graph.cables.resize(count);
    ports.resize(count);
    part.resize(count);
    std::iota(part.begin(), part.end(), 0U);
    calm = part;
    const unsigned avoids = random() % 4;  // of four cables
    const std::uint32_t cables_wanted = random() % (count * 3);
    for (std::uint32_t i = 0; i < cables_wanted && count > 1; ++i) {
      const std::uint32_t a = random() % count;
      const std::uint32_t b = (a + 1 + random() % (count - 1)) % count;
      connect(a, b, random() % 4 < avoids);
      if (random() % 4 == 0) connect(a, b, random() % 4 < avoids);  // more than one between them
    }
    for (std::uint32_t sw = 0; sw < count; ++sw) {
      const unsigned hosts = random() % 4;
      for (unsigned h = 0; h < hosts; ++h) {
        const unsigned port = ++ports[sw];
        if (random() % 3 != 0) members.push_back({sw, static_cast<std::uint8_t>(port), random() % 4 != 0});
      }
      if (random() % 8 == 0) members.push_back({sw, 0, random() % 2 == 0});
    }
    std::ranges::shuffle(members, random);
  }
  void connect(std::uint32_t a, std::uint32_t b, bool is_avoided) {
    const End from{a, ++ports[a]}, to{b, ++ports[b]};
    cables[from] = to;
    cables[to] = from;
    const auto out = static_cast<std::uint8_t>(from.second), in = static_cast<std::uint8_t>(to.second);
    graph.cables[a].push_back({out, b, in, is_avoided});
    graph.cables[b].push_back({in, a, out, is_avoided});
    const std::uint32_t old = part[a], now = part[b];
    std::ranges::replace(part, old, now);
    if (is_avoided) {
      avoided.insert({from, to});
      return;
    }
    const std::uint32_t calm_old = calm[a], calm_now = calm[b];
    std::ranges::replace(calm, calm_old, calm_now);
  }
};

// How often each port that is no cable's gets a packet; nothing: it goes round.
std::optional<std::map<End, unsigned>> flood(const Fabric& fabric, const MulticastTree& tree, End from) {
  std::map<End, unsigned> got;
  std::vector<End> arriving{from};
  for (std::size_t i = 0; i < arriving.size(); ++i) {
    if (i > 10 * fabric.cables.size() + 10) return std::nullopt;
    const auto [sw, in] = arriving[i];
    const auto at = tree.find(sw);
    if (at == tree.end()) continue;
    for (unsigned port = 0; port < 256; ++port) {
      if (!at->second[port] || port == in) continue;
      const auto cable = fabric.cables.find({sw, port});
      if (cable == fabric.cables.end()) {
        ++got[{sw, port}];
      } else {
        arriving.push_back(cable->second);
      }
    }
  }
  return got;
}

TEST(MulticastTrees, EachReceiverGetsEachPacketOnceAndNoOtherPortAny) {
  std::size_t delivered = 0, apart = 0, senders_only = 0;
  for (std::uint64_t seed = 0; seed < part_of_seeds(4000); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const Fabric fabric(random);
    MulticastTrees trees(fabric.graph);
    const MulticastTree tree = trees.grow(fabric.members, static_cast<std::uint32_t>(0xc000 + seed % 64));
    for (const MulticastPlace& sender : fabric.members) {
      const auto got = flood(fabric, tree, {sender.sw, sender.port});
      ASSERT_TRUE(got) << "goes round, seed " << seed;
      std::map<End, unsigned> expected;
      for (const MulticastPlace& other : fabric.members) {
        if (!other.receives || (other.sw == sender.sw && other.port == sender.port)) continue;
        if (fabric.part[other.sw] != fabric.part[sender.sw]) {
          ++apart;
          continue;
        }
        expected[{other.sw, other.port}] = 1;
      }
      ASSERT_EQ(*got, expected) << "seed " << seed;
      delivered += expected.size();
      senders_only += sender.receives ? 0 : expected.size();
    }
  }
  EXPECT_GT(delivered, part_of_seeds(4000));
  EXPECT_GT(apart, part_of_seeds(4000) / 10);
  EXPECT_GT(senders_only, part_of_seeds(4000) / 10);
}

// Nothing is sent over a cable behind which no member gets it.
TEST(MulticastTrees, NoCableCarriesWhatNoMemberGets) {
  for (std::uint64_t seed = 0; seed < part_of_seeds(1000); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const Fabric fabric(random);
    MulticastTrees trees(fabric.graph);
    const MulticastTree tree = trees.grow(fabric.members, static_cast<std::uint32_t>(seed));
    for (const auto& [from, to] : fabric.cables) {
      const auto at = tree.find(from.first);
      if (at == tree.end() || !at->second[from.second]) continue;
      const auto got = flood(fabric, tree, to);
      ASSERT_TRUE(got);
      EXPECT_FALSE(got->empty()) << "seed " << seed;
    }
  }
}

// A cable that is to be avoided joins only what no others join: never where the members have another tree.
TEST(MulticastTrees, GetsWithoutCablesThatAreAvoidedWhereItCan) {
  std::size_t avoiding = 0, taken = 0;
  for (std::uint64_t seed = 0; seed < part_of_seeds(4000); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const Fabric fabric(random);
    const auto calm_of = [&](const MulticastPlace& member) { return fabric.calm[member.sw]; };
    const bool has_another = std::ranges::all_of(
        fabric.members, [&](const auto& member) { return calm_of(member) == calm_of(fabric.members.front()); });
    MulticastTrees trees(fabric.graph);
    for (const auto& [sw, ports] : trees.grow(fabric.members, static_cast<std::uint32_t>(seed))) {
      for (unsigned port = 1; port <= fabric.ports[sw]; ++port) {
        const auto cable = fabric.cables.find({sw, port});
        if (!ports[port] || cable == fabric.cables.end()) continue;
        if (!fabric.avoided.contains({sw, port})) {
          avoiding += has_another && !fabric.avoided.empty() ? 1 : 0;
          continue;
        }
        ++taken;
        ASSERT_FALSE(has_another) << "seed " << seed;
        ASSERT_NE(fabric.calm[sw], fabric.calm[cable->second.first]) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(avoiding, part_of_seeds(4000) / 10);
  EXPECT_GT(taken, part_of_seeds(4000) / 10);
}

// Two leaves and four spines: each group is led by one spine, and groups by all of them.
TEST(MulticastTrees, GroupsSpreadOverEqualSpines) {
  SwitchGraph graph;
  graph.cables.resize(6);
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    for (std::uint32_t spine = 0; spine < 4; ++spine) {
      const auto up = static_cast<std::uint8_t>(10 + spine), down = static_cast<std::uint8_t>(1 + leaf);
      graph.cables[leaf].push_back({up, 2 + spine, down, false});
      graph.cables[2 + spine].push_back({down, leaf, up, false});
    }
  }
  const std::vector<MulticastPlace> members{{0, 1, true}, {1, 1, true}};
  MulticastTrees trees(graph);
  std::set<std::uint32_t> used;
  for (std::uint32_t lid = 0xc000; lid < 0xc020; ++lid) {
    const MulticastTree tree = trees.grow(members, lid);
    ASSERT_EQ(tree.size(), 3U);
    used.insert(std::prev(tree.end())->first);
    EXPECT_EQ(MulticastTrees(graph).grow(members, lid), tree);
  }
  EXPECT_EQ(used.size(), 4U);
}

}  // namespace
}  // namespace railweave::fabric::infiniband::multicast_trees_test
