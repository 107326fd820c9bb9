// Leaf groups, pods and components of small random fabrics against a naive implementation of locality.h: sets of names,
// relations checked pair by pair, reachability by search from every host.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/topology/locality.h"
#include "tests/unit/topology/small_fabric.h"

namespace railweave::fabric::locality_oracle_test {
namespace {

struct RandomFabric {
  std::vector<std::vector<std::string>> leaves_of_host;  // one switch name per port, in order of devices
  std::vector<std::pair<std::string, std::string>> links;
  std::set<std::string> switches;
};

RandomFabric random_fabric(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  RandomFabric fabric;
  const std::size_t units = 1 + pick(4);
  const std::size_t rails = 1 + pick(4);
  const auto leaf = [](std::size_t unit, std::size_t rail) {
    return "leaf-" + std::to_string(unit) + "-" + std::to_string(rail);
  };
  std::vector<std::string> leaves;
  for (std::size_t u = 0; u < units; ++u) {
    for (std::size_t r = 0; r < rails; ++r) leaves.push_back(leaf(u, r));
    for (std::size_t h = 0, hosts = 1 + pick(5); h < hosts; ++h) {
      auto& ports = fabric.leaves_of_host.emplace_back();
      for (std::size_t r = 0; r < rails; ++r) {
        if (pick(8) == 0) continue;                                                    // short of a rail
        ports.push_back(pick(12) == 0 ? leaf(pick(units), pick(rails)) : leaf(u, r));  // or astray
      }
    }
  }
  fabric.switches.insert(leaves.begin(), leaves.end());
  const std::size_t spines = pick(5);
  const std::size_t cores = pick(3);
  for (const auto& name : leaves) {
    for (std::size_t s = 0; s < spines; ++s) {
      if (pick(3) != 0) fabric.links.emplace_back(name, "spine-" + std::to_string(s));
    }
    if (pick(10) == 0) fabric.links.emplace_back(name, leaves[pick(leaves.size())]);
  }
  for (std::size_t s = 0; s < spines; ++s) {
    for (std::size_t c = 0; c < cores; ++c) {
      if (pick(4) != 0) fabric.links.emplace_back("spine-" + std::to_string(s), "core-" + std::to_string(c));
    }
    if (pick(5) == 0) fabric.links.emplace_back("spine-" + std::to_string(s), "spine-" + std::to_string(pick(spines)));
    if (pick(6) == 0) fabric.leaves_of_host.push_back({"spine-" + std::to_string(s)});  // a host on a spine
  }
  std::erase_if(fabric.links, [](const auto& link) { return link.first == link.second; });
  for (const auto& [a, b] : fabric.links) fabric.switches.insert({a, b});
  for (const auto& ports : fabric.leaves_of_host) fabric.switches.insert(ports.begin(), ports.end());
  return fabric;
}

class Naive {
 public:
  explicit Naive(const RandomFabric& fabric) : fabric_(fabric) {
    for (std::size_t h = 0; h < fabric.leaves_of_host.size(); ++h) {
      for (const auto& leaf : fabric.leaves_of_host[h]) hosts_of_[leaf].insert(h);
    }
    for (const auto& [leaf, hosts] : hosts_of_) {
      for (const auto& [other, others] : hosts_of_) {
        std::set<std::size_t> both;
        std::ranges::set_intersection(hosts, others, std::inserter(both, both.end()));
        if (leaf != other && 2 * both.size() > std::max(hosts.size(), others.size())) partners_[leaf].insert(other);
      }
    }
  }

  // The switches of the same leaf group.
  std::set<std::string> leaf_group(const std::string& leaf) const { return reach(leaf, partners_); }

  std::set<std::string> leaf_group_of_host(std::size_t host) const {
    const auto& ports = fabric_.leaves_of_host[host];
    std::set<std::string> best;
    std::size_t most = 0;
    for (const auto& leaf : ports) {
      const auto group = leaf_group(leaf);
      const auto count =
          static_cast<std::size_t>(std::ranges::count_if(ports, [&](const auto& l) { return group.contains(l); }));
      if (count > most) {
        most = count;
        best = group;
      }
    }
    return best;
  }

  std::set<std::string> pod_of_host(std::size_t host) const {
    auto edges = partners_;
    for (const auto& [a, b] : fabric_.links) {
      const int tiers = tier(a) + tier(b);
      if (tiers < 2) {
        edges[a].insert(b);
        edges[b].insert(a);
      }
    }
    return from_host(host, edges);
  }

  std::set<std::string> component_of_host(std::size_t host) const {
    auto edges = partners_;
    for (const auto& [a, b] : fabric_.links) {
      edges[a].insert(b);
      edges[b].insert(a);
    }
    return from_host(host, edges);
  }

 private:
  using Edges = std::map<std::string, std::set<std::string>>;

  std::set<std::string> from_host(std::size_t host, const Edges& edges) const {
    const auto group = leaf_group_of_host(host);
    return group.empty() ? std::set<std::string>{} : reach(*group.begin(), edges);
  }

  static std::set<std::string> reach(const std::string& from, const Edges& edges) {
    std::set<std::string> reached{from};
    std::vector<std::string> open{from};
    while (!open.empty()) {
      const auto at = open.back();
      open.pop_back();
      if (!edges.contains(at)) continue;
      for (const auto& next : edges.at(at)) {
        if (reached.insert(next).second) open.push_back(next);
      }
    }
    return reached;
  }

  std::size_t hosts(const std::string& sw) const { return hosts_of_.contains(sw) ? hosts_of_.at(sw).size() : 0; }

  bool is_leaf(const std::string& sw) const {
    if (hosts(sw) == 0) return false;
    std::vector<std::size_t> around;
    for (const auto& [a, b] : fabric_.links) {
      if (a == sw && hosts(b) > 0) around.push_back(hosts(b));
      if (b == sw && hosts(a) > 0) around.push_back(hosts(a));
    }
    std::ranges::sort(around);
    const bool spine = around.size() >= 2 && around.size() > hosts(sw) && around[around.size() / 2] > 2 * hosts(sw);
    return !spine;
  }

  int tier(const std::string& sw) const {
    if (is_leaf(sw)) return 0;
    for (const auto& [a, b] : fabric_.links) {
      if ((a == sw && is_leaf(b)) || (b == sw && is_leaf(a))) return 1;
    }
    return 9;
  }

  const RandomFabric& fabric_;
  std::map<std::string, std::set<std::size_t>> hosts_of_;
  Edges partners_;
};

TEST(LocalityOracle, GroupsAreThoseOfANaiveSearch) {
  for (unsigned seed = 1; seed <= 250; ++seed) {
    SCOPED_TRACE(seed);
    const RandomFabric random = random_fabric(seed);
    const Naive naive(random);
    SmallFabric small;
    for (const auto& name : random.switches) small.sw(name);
    for (const auto& [a, b] : random.links) small.join(a, b);
    for (std::size_t h = 0; h < random.leaves_of_host.size(); ++h) {
      const std::string host = "n" + std::to_string(h);
      small.host(host);
      for (std::size_t p = 0; p < random.leaves_of_host[h].size(); ++p) {
        small.plug(host, "mlx5_" + std::to_string(p), random.leaves_of_host[h][p]);
      }
    }
    const auto topology = small.build();
    ASSERT_TRUE(topology.source_findings().empty());
    const auto locality = derive_locality(topology);
    const Level* leaf_groups = locality.find(LevelKind::leaf_group);
    const Level* pods = locality.find(LevelKind::pod);
    const Level* cluster = locality.find(LevelKind::cluster);
    const bool any_cable = std::ranges::any_of(random.leaves_of_host, [](const auto& ports) { return !ports.empty(); });
    if (!any_cable) continue;
    ASSERT_TRUE(leaf_groups != nullptr && pods != nullptr && cluster != nullptr);
    for (std::size_t a = 0; a < random.leaves_of_host.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const auto same = [&](const Level* level) {
          return level->group_of_host[topology.find_host("n" + std::to_string(a)).index()] ==
                 level->group_of_host[topology.find_host("n" + std::to_string(b)).index()];
        };
        const auto expected = [&](auto group_of) {
          const auto group = group_of(a);
          return !group.empty() && group == group_of(b);
        };
        ASSERT_EQ(same(leaf_groups), expected([&](auto h) { return naive.leaf_group_of_host(h); })) << a << ' ' << b;
        ASSERT_EQ(same(pods), expected([&](auto h) { return naive.pod_of_host(h); })) << a << ' ' << b;
        ASSERT_EQ(same(cluster), expected([&](auto h) { return naive.component_of_host(h); })) << a << ' ' << b;
      }
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::locality_oracle_test
