#include "fabric/flow/hashed_paths.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"

namespace railweave::fabric {
namespace {

std::shared_ptr<const Topology> generated(const char* kind) {
  auto topology = generate(kind, {});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const Topology>(std::move(*topology));
}

// Cables between two switches on a shortest path, over the list of live links alone; none: there is no path.
std::optional<std::size_t> naive_distance(const FabricView& view, SwitchId from, SwitchId to) {
  const Topology& t = view.topology();
  std::map<SwitchId, std::set<SwitchId>> next;
  for (const LinkId link : t.links()) {
    const SwitchId a = t.switch_of(t.a(link)), b = t.switch_of(t.b(link));
    if (!view.alive(link) || !a || !b) continue;
    next[a].insert(b);
    next[b].insert(a);
  }
  std::map<SwitchId, std::size_t> far{{from, 0}};
  std::queue<SwitchId> open({from});
  for (; !open.empty(); open.pop()) {
    if (open.front() == to) return far[to];
    for (const SwitchId sw : next[open.front()]) {
      if (far.emplace(sw, far[open.front()] + 1).second) open.push(sw);
    }
  }
  return std::nullopt;
}

TEST(HashedPaths, AreShortestPathsOverLiveCables) {
  for (const char* kind : {"fat-tree", "rail-optimized", "dragonfly", "torus"}) {
    SCOPED_TRACE(kind);
    const auto topology = generated(kind);
    const Topology& t = *topology;
    std::mt19937_64 random(5);
    FabricView view(topology);
    for (const LinkId link : t.links()) {
      if (random() % 8 == 0) view.set_state(link, LinkState::down);
    }
    const HashedPaths paths(view, 3);
    std::vector<PortId> ends(t.hca_ports().begin(), t.hca_ports().end());
    std::size_t lost = 0;
    for (int i = 0; i < 300; ++i) {
      const EndPortPair pair{ends[random() % ends.size()], ends[random() % ends.size()]};
      std::vector<DirectedLink> path{7};
      const bool arrives = paths.append(pair, path);
      std::vector<DirectedLink> again;
      EXPECT_EQ(HashedPaths(view, 3).append(pair, again), arrives);
      const bool is_cabled =
          t.peer(pair.from) && t.peer(pair.to) && view.alive(t.link(pair.from)) && view.alive(t.link(pair.to));
      const auto far = is_cabled && pair.from != pair.to
                           ? naive_distance(view, t.switch_of(t.peer(pair.from)), t.switch_of(t.peer(pair.to)))
                           : std::nullopt;
      ASSERT_EQ(arrives, far.has_value()) << "pair " << i;
      if (!arrives) {
        EXPECT_EQ(path.size(), 1U);
        ++lost;
        continue;
      }
      path.erase(path.begin());
      EXPECT_EQ(path, again) << "the same flow, another way";
      ASSERT_EQ(path.size(), *far + 2);
      EXPECT_EQ(path.front(), directed_link(t, pair.from));
      EXPECT_EQ(path.back(), directed_link(t, t.peer(pair.to)));
      for (std::size_t hop = 1; hop < path.size(); ++hop) {
        EXPECT_TRUE(view.alive(link_of(path[hop])));
        const auto ends_of = [&](DirectedLink link) { return std::set{t.a(link_of(link)), t.b(link_of(link))}; };
        std::set<SwitchId> before, after;
        for (const PortId port : ends_of(path[hop - 1])) before.insert(t.switch_of(port));
        for (const PortId port : ends_of(path[hop])) after.insert(t.switch_of(port));
        EXPECT_TRUE(std::ranges::any_of(before, [&](SwitchId sw) { return sw && after.contains(sw); })) << "a gap";
      }
    }
    EXPECT_GT(lost, 0U);
    EXPECT_LT(lost, 300U);
  }
}

// Flows between two leaves, over their spines: about as many on each, other ones by another seed.
TEST(HashedPaths, AreSpreadOverAllNextHops) {
  const auto topology = generated("fat-tree");
  const Topology& t = *topology;
  const FabricView view(topology);
  std::map<SwitchId, std::vector<PortId>> of_leaf;
  for (const PortId port : t.hca_ports()) of_leaf[t.switch_of(t.peer(port))].push_back(port);
  ASSERT_GE(of_leaf.size(), 2U);
  std::map<DirectedLink, std::size_t> flows;
  std::size_t all = 0, same = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const PortId from : of_leaf.begin()->second) {
      for (const PortId to : of_leaf.rbegin()->second) {
        std::vector<DirectedLink> path, other;
        ASSERT_TRUE(HashedPaths(view, seed).append({from, to}, path));
        ASSERT_TRUE(HashedPaths(view, seed + 1'000).append({from, to}, other));
        ++flows[path[1]];
        ++all;
        same += path[1] == other[1] ? 1 : 0;
      }
    }
    if (all > 4'000) break;
  }
  const double mean = static_cast<double>(all) / static_cast<double>(flows.size());
  EXPECT_GT(flows.size(), 3U);
  for (const auto& [link, count] : flows) EXPECT_NEAR(static_cast<double>(count), mean, 5 * std::sqrt(mean));
  EXPECT_NEAR(static_cast<double>(same), mean, 5 * std::sqrt(mean)) << "one in as many as there are next hops";
}

}  // namespace
}  // namespace railweave::fabric
