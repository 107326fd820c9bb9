// Parts that are cut off, held to searches that share nothing with the sets of cut_off.cc, on random damage by seed.
#include "fabric/topology/cut_off.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fat_trees.h"

namespace railweave::fabric::cut_off_test {
namespace {

using Part = std::set<std::size_t>;  // switches

// All switches that a packet gets to from one, over links that `crosses` lets through.
template <class Crosses>
Part reached(const Topology& t, SwitchId from, Crosses crosses) {
  Part seen{from.index()};
  std::vector<SwitchId> queue{from};
  while (!queue.empty()) {
    const SwitchId at = queue.back();
    queue.pop_back();
    for (const PortId port : t.ports(at)) {
      const LinkId link = t.link(port);
      if (!link || !t.switch_of(t.peer(port)) || !crosses(link)) continue;
      if (seen.insert(t.switch_of(t.peer(port)).index()).second) queue.push_back(t.switch_of(t.peer(port)));
    }
  }
  return seen;
}

std::size_t ends_of(const Topology& t, const Part& part, const FabricView* up = nullptr) {
  std::size_t ends = 0;
  for (const auto sw : part) {
    for (const PortId port : t.ports(SwitchId(sw))) {
      if (!t.link(port) || t.switch_of(t.peer(port))) continue;
      ends += up == nullptr || up->state(t.link(port)) != LinkState::down ? 1 : 0;
    }
  }
  return ends;
}

void judge(const FabricView& view, const CutOffSwitches& found) {
  const Topology& t = view.topology();
  const auto in_use = [&](LinkId link) {
    return view.state(link) != LinkState::down && !view.drained(link) && !view.drained(t.switch_of(t.a(link))) &&
           !view.drained(t.switch_of(t.b(link)));
  };
  std::set<std::uint32_t> numbers;
  for (const SwitchId sw : t.switches()) {
    const Part whole = reached(t, sw, [](LinkId) { return true; });
    const Part part = reached(t, sw, in_use);
    std::pair<std::size_t, std::size_t> most{0, 0};
    for (const auto other : whole) {
      if (view.drained(SwitchId(other))) continue;
      const Part there = reached(t, SwitchId(other), in_use);
      most = std::max(most, {ends_of(t, there), there.size()});
    }
    const bool is_largest = !view.drained(sw) && std::pair(ends_of(t, part), part.size()) == most;
    if (!is_largest && ends_of(t, part) > 0 && ends_of(t, whole, &view) > 0) {
      ASSERT_TRUE(found.contains(sw)) << t.name(sw);
    }
    if (ends_of(t, part) == 0 || ends_of(t, whole, &view) == 0) {
      ASSERT_FALSE(found.contains(sw)) << t.name(sw);
    }
    if (found.contains(sw)) numbers.insert(found.part(sw));
    for (const SwitchId other : t.switches()) {
      if (!found.contains(sw) || !found.contains(other)) continue;
      ASSERT_EQ(found.part(sw) == found.part(other), part.contains(other.index()));
    }
  }
  // Of parts that are as large as each other exactly one is the rest, unless all is drained.
  for (const SwitchId sw : t.switches()) {
    const Part whole = reached(t, sw, [](LinkId) { return true; });
    if (ends_of(t, whole, &view) == 0) continue;
    std::set<Part> rests;
    bool some_stand = false;
    for (const auto other : whole) {
      some_stand = some_stand || !view.drained(SwitchId(other));
      const Part there = reached(t, SwitchId(other), in_use);
      if (!found.contains(SwitchId(other)) && ends_of(t, there) > 0) rests.insert(there);
    }
    ASSERT_LE(rests.size(), 1U);
    if (!some_stand) {
      ASSERT_TRUE(rests.empty());
    }
  }
  ASSERT_EQ(numbers.size(), found.parts());
}

TEST(CutOffSwitches, RandomDamageEqualsSearches) {
  std::size_t parts = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto t = testing::make_fat_tree({.hosts_per_leaf = 1 + seed % 3,
                                           .leaves_per_pod = 2 + seed % 3,
                                           .spines_per_pod = 1 + seed % 3,
                                           .pods = 1 + seed % 3,
                                           .cores_per_spine = seed % 4 == 0 ? 0U : 1U,
                                           .planes = 1 + seed % 2});
    FabricView view(t);
    const unsigned percent = 5 + seed % 12 * 8;
    const auto chance = [&](unsigned of_100) { return random() % 100 < of_100; };
    for (const LinkId link : t->links()) {
      if (chance(percent)) view.set_state(link, LinkState::down);
      if (chance(percent / 4)) view.set_drained(link, true);
    }
    for (const SwitchId sw : t->switches()) {
      if (chance(percent / 5)) view.set_drained(sw, true);
    }
    const CutOffSwitches found(view);
    judge(view, found);
    if (::testing::Test::HasFatalFailure()) return;
    parts += found.parts();
  }
  EXPECT_GT(parts, 300U);
}

TEST(CutOffSwitches, ADrainedSwitchThatStandsAloneIsCutOffToo) {
  const auto t = testing::make_fat_tree({.leaves_per_pod = 1, .spines_per_pod = 1, .pods = 1, .cores_per_spine = 0});
  FabricView view(t);
  EXPECT_EQ(CutOffSwitches(view).parts(), 0U);
  view.set_drained(t->switches()[0], true);
  EXPECT_TRUE(CutOffSwitches(view).contains(t->switches()[0]));
}

}  // namespace
}  // namespace railweave::fabric::cut_off_test
