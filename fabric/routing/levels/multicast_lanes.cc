#include "fabric/routing/levels/multicast_lanes.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "fabric/routing/levels/path_channels.h"
#include "fabric/routing/plane/acyclic_turns.h"
#include "fabric/routing/plane/port_arcs.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxRoots = 16;  // that a tree is begun from

class Tree {
 public:
  Tree(const Plane& plane, const PlaneLanes& lanes, std::span<const std::uint8_t> usable, std::uint32_t levels,
       std::vector<std::vector<std::uint32_t>> unicast)
      : plane_(plane),
        lanes_(lanes),
        usable_(usable),
        levels_(levels),
        turns_(std::move(unicast)),
        in_tree_(plane.arcs.size(), 0),
        is_joined_(plane.switch_count(), 0) {}

  // Joins what it can to the root, over cables that are to be avoided only where no others do. A cable that is refused is tried
  // again once the tree has grown: what is refused at one end may be proven from the other.
  void grow(std::uint32_t root) {
    if (is_joined_[root] != 0) return;
    std::vector<std::uint32_t> joined{root};
    is_joined_[root] = 1;
    for (const std::uint8_t least : {std::uint8_t{2}, std::uint8_t{1}}) {
      for (std::size_t i = 0; i < joined.size(); ++i) {
        const std::uint32_t s = joined[i];
        for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
          const std::uint32_t to = plane_.arcs[a].to;
          if (usable_[a] < least || is_joined_[to] != 0 || !take(s, a)) continue;
          is_joined_[to] = 1;
          joined.push_back(to);
        }
      }
    }
    largest_ = std::max(largest_, joined.size());
  }
  [[nodiscard]] std::size_t largest() const { return largest_; }
  [[nodiscard]] std::vector<std::uint8_t> in_tree() && { return std::move(in_tree_); }

 private:
  // Adds a cable to a switch that is not joined. False: its turns would close a circle; what was added of them stays, which
  // only forbids more.
  bool take(std::uint32_t s, std::uint32_t out) {
    const std::uint32_t back = plane_.arcs[out].reverse;
    in_tree_[out] = in_tree_[back] = 1;
    bool proven = true;
    for (std::uint32_t b = plane_.first_arc[s]; b < plane_.first_arc[s + 1] && proven; ++b) {
      if (in_tree_[b] == 0) continue;
      // From the new switch over s, also to where packets that came so go next; and from the neighbours of s to the new one.
      if (b != out) {
        proven = add_turns(back, b) && add_turns(plane_.arcs[b].reverse, out);
        const std::uint32_t next = plane_.arcs[b].to;
        for (std::uint32_t c = plane_.first_arc[next]; c < plane_.first_arc[next + 1] && proven; ++c) {
          if (in_tree_[c] != 0 && c != plane_.arcs[b].reverse) proven = add_turns(b, c);
        }
      }
    }
    if (!proven) in_tree_[out] = in_tree_[back] = 0;
    return proven;
  }

  // All lanes on which packets may be on the first arc, to the one that they are on then.
  bool add_turns(std::uint32_t in, std::uint32_t out) {
    const std::uint32_t from = plane_.arcs[plane_.arcs[in].reverse].to;
    for (unsigned level = 0; level < lanes_.levels; ++level) {
      if ((levels_ >> level & 1U) == 0) continue;
      std::set<unsigned> on{lanes_.lane(PlaneLanes::kFromEndPort, in, level)};
      for (std::uint32_t a = plane_.first_arc[from]; a < plane_.first_arc[from + 1]; ++a) {
        const std::uint32_t before = plane_.arcs[a].reverse;
        if (in_tree_[before] != 0 && a != in) on.insert(lanes_.lane(before, in, level));
      }
      const std::uint32_t to = out * lanes_.lanes + lanes_.lane(in, out, level);
      for (const unsigned lane : on) {
        if (!turns_.add_path({in * lanes_.lanes + lane, to})) return false;
      }
    }
    return true;
  }

  const Plane& plane_;
  const PlaneLanes& lanes_;
  std::span<const std::uint8_t> usable_;
  std::uint32_t levels_;
  AcyclicTurns turns_;
  std::vector<std::uint8_t> in_tree_;    // by arc
  std::vector<std::uint8_t> is_joined_;  // by switch
  std::size_t largest_ = 0;
};

// The most switches that usable cables join.
std::size_t largest_part(const Plane& plane, std::span<const std::uint8_t> usable) {
  std::vector<std::uint8_t> seen(plane.switch_count(), 0);
  std::size_t largest = 0;
  for (std::uint32_t first = 0; first < plane.switch_count(); ++first) {
    if (seen[first] != 0) continue;
    std::vector<std::uint32_t> part{first};
    seen[first] = 1;
    for (std::size_t i = 0; i < part.size(); ++i) {
      for (std::uint32_t a = plane.first_arc[part[i]]; a < plane.first_arc[part[i] + 1]; ++a) {
        const std::uint32_t to = plane.arcs[a].to;
        if (usable[a] == 0 || seen[to] != 0) continue;
        seen[to] = 1;
        part.push_back(to);
      }
    }
    largest = std::max(largest, part.size());
  }
  return largest;
}

}  // namespace

MulticastLanes prove_multicast(const Plane& plane, const PlaneTables& tables, const PlaneLanes& lanes,
                               std::span<const std::uint8_t> usable) {
  const PortArcs port_arcs(plane);
  const TurnCounts turns = PathChannels(plane, lanes, port_arcs).all(tables);
  const std::size_t whole = largest_part(plane, usable);
  const std::uint32_t all = (1U << lanes.levels) - 1;
  MulticastLanes best{.in_tree = std::vector<std::uint8_t>(plane.arcs.size(), 0), .levels = 1, .left_out = whole};
  if (turns.has_circle()) return best;
  const std::vector<std::vector<std::uint32_t>> unicast = turns.next();
  const std::size_t roots = std::min(plane.switch_count(), kMaxRoots);
  for (const std::uint32_t levels : {all, 1U}) {
    for (std::size_t i = 0; i < roots && best.left_out > 0; ++i) {
      Tree tree(plane, lanes, usable, levels, unicast);
      const auto root = static_cast<std::uint32_t>(i * plane.switch_count() / roots);
      tree.grow(root);
      for (std::uint32_t s = 0; s < plane.switch_count(); ++s) tree.grow(s);  // other parts
      const std::size_t left_out = whole - tree.largest();
      if (left_out >= best.left_out) continue;
      best = {.in_tree = std::move(tree).in_tree(), .levels = levels, .left_out = left_out};
    }
  }
  return best;
}

}  // namespace railweave::fabric
