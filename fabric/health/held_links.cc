#include "fabric/health/held_links.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fabric/topology/disjoint_sets.h"
#include "fabric/topology/joined_switches.h"

namespace railweave::fabric::health {
namespace {

// Counts what is held of each switch and of each two leaves, as links are held one after the other.
class Shares {
 public:
  Shares(const Topology& topology, const std::vector<bool>& in_use, unsigned percent)
      : topology_(topology),
        percent_(percent),
        in_use_(in_use),
        of_switch_(topology.switches().size()),
        is_leaf_(topology.switches().size()) {
    for (const LinkId link : topology.links()) {
      const SwitchId a = topology.switch_of(topology.a(link));
      const SwitchId b = topology.switch_of(topology.b(link));
      if (a && b) {
        if (!in_use[link.index()]) continue;
        ++of_switch_[a.index()].links;
        ++of_switch_[b.index()].links;
      } else if (a || b) {
        is_leaf_[(a ? a : b).index()] = true;
      }
    }
  }

  // False, and nothing changed: it would be more than the share.
  bool hold(LinkId link) {
    const SwitchId a = topology_.switch_of(topology_.a(link));
    const SwitchId b = topology_.switch_of(topology_.b(link));
    if (a == b || !has_room(of_switch_[a.index()]) || !has_room(of_switch_[b.index()])) return false;
    held_.insert(link);
    if (leaves_lose(a, b) || leaves_lose(b, a)) {
      held_.erase(link);
      return false;
    }
    ++of_switch_[a.index()].held;
    ++of_switch_[b.index()].held;
    return true;
  }

 private:
  struct Count {
    std::uint64_t links = 0, held = 0;
  };
  [[nodiscard]] std::uint64_t room_of(std::uint64_t links) const { return links * percent_ / 100; }
  [[nodiscard]] bool has_room(const Count& count) const { return count.held < room_of(count.links); }

  using Neighbours = std::map<SwitchId, Count>;
  [[nodiscard]] Neighbours neighbours(SwitchId sw) const {
    Neighbours found;
    for (const PortId port : topology_.ports(sw)) {
      const LinkId link = topology_.link(port);
      if (!link || !in_use_[link.index()] || !topology_.joins_switches(link)) continue;
      Count& count = found[topology_.switch_of(topology_.peer(port))];
      ++count.links;
      if (held_.contains(link)) ++count.held;
    }
    return found;
  }

  // A link between them is held: whether too few paths are left from the leaf to another one over that switch's kind.
  [[nodiscard]] bool leaves_lose(SwitchId leaf, SwitchId spine) const {
    if (!is_leaf_[leaf.index()] || is_leaf_[spine.index()]) return false;
    const Neighbours up = neighbours(leaf);
    for (const auto& [other, unused] : neighbours(spine)) {
      if (other == leaf || !is_leaf_[other.index()]) continue;
      std::uint64_t paths = 0;
      std::uint64_t left = 0;
      for (const auto& [over, down] : neighbours(other)) {
        const auto joins = up.find(over);
        if (joins == up.end() || is_leaf_[over.index()]) continue;
        paths += std::min(joins->second.links, down.links);
        left += std::min(joins->second.links - joins->second.held, down.links - down.held);
      }
      if (paths - left > room_of(paths)) return true;
    }
    return false;
  }

  const Topology& topology_;
  const unsigned percent_;
  const std::vector<bool>& in_use_;
  std::vector<Count> of_switch_;
  std::vector<bool> is_leaf_;
  std::set<LinkId> held_;
};

}  // namespace

HeldLinks choose_held(const Topology& topology, std::span<const LinkId> flapping, const std::vector<bool>& in_use,
                      unsigned share_percent) {
  HeldLinks chosen;
  if (flapping.empty()) return chosen;
  std::vector<bool> flaps(topology.links().size());
  for (const LinkId link : flapping) flaps[link.index()] = true;
  // What is joined without any of them; then the least wanted is the first to be used where it joins more.
  DisjointSets joined =
      joined_switches(topology, [&](LinkId link) { return in_use[link.index()] && !flaps[link.index()]; });
  std::vector<bool> is_needed(topology.links().size());
  for (auto link = flapping.rbegin(); link != flapping.rend(); ++link) {
    if (!in_use[link->index()]) continue;
    if (!topology.joins_switches(*link)) {
      is_needed[link->index()] = true;  // of an end port
      continue;
    }
    const auto a = joined.find(topology.switch_of(topology.a(*link)).index());
    const auto b = joined.find(topology.switch_of(topology.b(*link)).index());
    is_needed[link->index()] = a != b;
    joined.unite(a, b);
  }
  Shares shares(topology, in_use, share_percent);
  for (const LinkId link : flapping) {
    if (!in_use[link.index()]) continue;
    if (is_needed[link.index()]) {
      chosen.used.push_back({link, WhyUsed::last_path});
    } else if (!shares.hold(link)) {
      chosen.used.push_back({link, WhyUsed::share});
    } else {
      chosen.held.push_back(link);
    }
  }
  return chosen;
}

}  // namespace railweave::fabric::health
