// What may be held, held to a naive search of paths and naive counts that share nothing with it, on random fabrics.
#include "fabric/health/held_links.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/topology/topology_builder.h"
#include "tests/support/fat_trees.h"

namespace railweave::fabric::health::held_links_test {
namespace {

// Any switches with any cables between them, also several, and hosts on some.
TopologyPtr random_fabric(std::mt19937& random) {
  const auto number = [&](unsigned from, unsigned to) {
    return std::uniform_int_distribution<unsigned>(from, to)(random);
  };
  TopologyBuilder builder;
  const auto subnet = builder.subnet("s", SubnetKind::compute);
  const unsigned switches = number(2, 9);
  std::vector<SwitchDraft> draft;
  std::vector<unsigned> used(switches);
  for (unsigned i = 0; i < switches; ++i) {
    draft.push_back(builder.add_switch({.guid = Guid(0x1000 + i),
                                        .name = "sw-" + std::to_string(i),
                                        .description = {},
                                        .ports = 64,
                                        .subnet = subnet,
                                        .rack = {},
                                        .group = {}}));
  }
  const LinkSpec cable = infiniband_link(4, LinkSpeed::ndr);
  for (unsigned i = number(switches - 1, 4 * switches); i > 0; --i) {
    const unsigned a = number(0, switches - 1);
    const unsigned b = number(0, switches - 1);
    if (a == b || used[a] == 60 || used[b] == 60) continue;
    builder.connect(CableEnd(draft[a], ++used[a]), CableEnd(draft[b], ++used[b]), cable);
  }
  for (unsigned i = 0; i < 2 * switches; ++i) {
    const unsigned at = number(0, switches - 1);
    if (at % 3 == 2 || used[at] == 64) continue;  // some have no hosts
    const auto host = builder.host("host-" + std::to_string(i));
    const auto hca =
        builder.add_hca({.guid = Guid(0x9000 + i), .host = host, .device = "mlx5_0", .description = {}, .ports = 1});
    builder.set_port(hca, 1, {.guid = Guid(0x9000 + i), .rail = {}});
    builder.connect(CableEnd(draft[at], ++used[at]), CableEnd(hca, 1), cable);
  }
  return std::make_shared<const Topology>(std::move(builder).build().value());
}

std::string device_of(const Topology& t, PortId port) {
  if (const auto sw = t.switch_of(port)) return std::string(t.name(sw));
  return "end " + t.port_text(port);
}

// Every device that can be reached from each, by search.
std::map<std::string, std::set<std::string>> reach(const Topology& t, const std::vector<bool>& used) {
  std::map<std::string, std::set<std::string>> next, all;
  for (const LinkId link : t.links()) {
    const std::string a = device_of(t, t.a(link));
    const std::string b = device_of(t, t.b(link));
    next.try_emplace(a);
    next.try_emplace(b);
    if (!used[link.index()]) continue;
    next[a].insert(b);
    next[b].insert(a);
  }
  for (const auto& [from, unused] : next) {
    std::vector<std::string> queue{from};
    all[from].insert(from);
    while (!queue.empty()) {
      const std::string at = queue.back();
      queue.pop_back();
      for (const auto& to : next[at]) {
        if (all[from].insert(to).second) queue.push_back(to);
      }
    }
  }
  return all;
}

std::size_t links_of(const Topology& t, SwitchId sw, const std::vector<bool>& used) {
  std::size_t count = 0;
  for (const LinkId link : t.links()) {
    if (t.joins_switches(link) && used[link.index()] && (t.switch_of(t.a(link)) == sw || t.switch_of(t.b(link)) == sw))
      ++count;
  }
  return count;
}

bool has_hosts(const Topology& t, SwitchId sw) {
  return std::ranges::any_of(t.ports(sw), [&](PortId port) { return t.link(port) && !t.switch_of(t.peer(port)); });
}

std::size_t between(const Topology& t, SwitchId a, SwitchId b, const std::vector<bool>& used) {
  return static_cast<std::size_t>(std::ranges::count_if(t.links(), [&](LinkId link) {
    const std::pair ends(t.switch_of(t.a(link)), t.switch_of(t.b(link)));
    return used[link.index()] && (ends == std::pair(a, b) || ends == std::pair(b, a));
  }));
}

std::size_t paths(const Topology& t, SwitchId a, SwitchId b, const std::vector<bool>& used) {
  std::size_t count = 0;
  for (const SwitchId over : t.switches()) {
    if (over == a || over == b || has_hosts(t, over)) continue;
    count += std::min(between(t, a, over, used), between(t, over, b, used));
  }
  return count;
}

void judge(const Topology& t, const std::vector<LinkId>& flapping, const std::vector<bool>& in_use, unsigned percent,
           const HeldLinks& chosen) {
  std::vector<bool> after = in_use;
  for (const LinkId link : chosen.held) {
    ASSERT_TRUE(in_use[link.index()]) << "what is down is not held";
    ASSERT_NE(std::ranges::find(flapping, link), flapping.end());
    after[link.index()] = false;
  }
  ASSERT_EQ(reach(t, after), reach(t, in_use)) << "what was joined stays joined";
  for (const SwitchId sw : t.switches()) {
    ASSERT_LE((links_of(t, sw, in_use) - links_of(t, sw, after)) * 100, links_of(t, sw, in_use) * percent);
    for (const SwitchId other : t.switches()) {
      if (other == sw || !has_hosts(t, sw) || !has_hosts(t, other)) continue;
      const auto before = paths(t, sw, other, in_use);
      ASSERT_LE((before - paths(t, sw, other, after)) * 100, before * percent);
    }
  }
  // Each that is in use is held, or used for a reason that stands.
  std::size_t usable = 0;
  for (const LinkId link : flapping) usable += in_use[link.index()] ? 1 : 0;
  ASSERT_EQ(chosen.held.size() + chosen.used.size(), usable);
  for (const auto& used : chosen.used) {
    if (used.why != WhyUsed::last_path) continue;
    std::vector<bool> without = in_use;  // and without what is wanted more
    for (const LinkId link : flapping) {
      const bool is_used = std::ranges::any_of(chosen.used, [&](const auto& one) { return one.link == link; });
      if (!is_used || link == used.link) without[link.index()] = false;
    }
    for (const auto& one : chosen.used) {
      if (one.why != WhyUsed::last_path) without[one.link.index()] = false;
    }
    ASSERT_NE(reach(t, without), reach(t, in_use)) << "it is needed where all others that may be are held";
  }
}

TEST(HeldLinks, NothingThatIsNeededIsHeldOnRandomFabrics) {
  std::size_t held = 0, last_paths = 0, shares = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto chance = [&](int percent) { return std::uniform_int_distribution<int>(1, 100)(random) <= percent; };
    const bool has_cores = seed % 2 != 0;
    const TopologyPtr made = seed % 3 != 0 ? random_fabric(random)
                                           : fabric::testing::make_fat_tree({.hosts_per_leaf = 1,
                                                                             .leaves_per_pod = 3,
                                                                             .spines_per_pod = 2 + seed % 5,
                                                                             .pods = has_cores ? 2U : 1U,
                                                                             .cores_per_spine = has_cores ? 2U : 0U,
                                                                             .leaf_cables = 1 + seed % 2});
    const Topology& t = *made;
    std::vector<bool> in_use(t.links().size());
    std::vector<LinkId> flapping;
    const int flaps = 10 + static_cast<int>(seed % 9) * 11;
    for (const LinkId link : t.links()) {
      in_use[link.index()] = chance(85);
      if (chance(flaps)) flapping.push_back(link);
    }
    std::ranges::shuffle(flapping, random);
    const unsigned percent = std::vector<unsigned>{0, 25, 34, 50, 75, 100}[seed % 6];
    const auto chosen = choose_held(t, flapping, in_use, percent);
    judge(t, flapping, in_use, percent, chosen);
    if (::testing::Test::HasFatalFailure()) return;
    held += chosen.held.size();
    for (const auto& used : chosen.used) ++(used.why == WhyUsed::last_path ? last_paths : shares);
  }
  EXPECT_GT(held, 300U);
  EXPECT_GT(last_paths, 300U);
  EXPECT_GT(shares, 300U);
}

TEST(HeldLinks, TheMostWantedIsHeldFirst) {
  const auto t =
      fabric::testing::make_fat_tree({.leaves_per_pod = 3, .spines_per_pod = 4, .pods = 1, .cores_per_spine = 0});
  std::vector<LinkId> uplinks;
  for (const PortId port : t->ports(t->switches()[0])) {
    if (t->link(port) && t->joins_switches(t->link(port))) uplinks.push_back(t->link(port));
  }
  ASSERT_EQ(uplinks.size(), 4U);
  const std::vector<bool> in_use(t->links().size(), true);
  const auto one = choose_held(*t, uplinks, in_use, 34);
  EXPECT_THAT(one.held, ::testing::ElementsAre(uplinks[0])) << "a third of a spine's three, a quarter of a leaf's four";
  std::ranges::reverse(uplinks);
  EXPECT_THAT(choose_held(*t, uplinks, in_use, 34).held, ::testing::ElementsAre(uplinks[0]));
  EXPECT_THAT(choose_held(*t, uplinks, in_use, 25).held, ::testing::IsEmpty());
}

}  // namespace
}  // namespace railweave::fabric::health::held_links_test
