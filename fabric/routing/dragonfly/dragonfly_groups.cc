#include "fabric/routing/dragonfly/dragonfly_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace railweave::fabric {

namespace {

using Groups = std::vector<std::uint32_t>;

// The share of a shape's cables that must be present.
constexpr std::size_t kPresentPercent = 75;
bool mostly(std::size_t there, std::size_t should) { return there * 100 >= should * kPresentPercent; }

// Neighbours of every switch, ascending, each once.
std::vector<std::vector<std::uint32_t>> neighbours_of(const Plane& plane) {
  std::vector<std::vector<std::uint32_t>> neighbours(plane.switch_count());
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    for (const Arc& arc : plane.arcs_of(s)) neighbours[s].push_back(arc.to);
    std::ranges::sort(neighbours[s]);
    neighbours[s].erase(std::ranges::unique(neighbours[s]).begin(), neighbours[s].end());
  }
  return neighbours;
}

// Numbers the parts that are connected by edges for which joins(a, b) holds.
template <class Joins>
Groups parts(const std::vector<std::vector<std::uint32_t>>& neighbours, Joins joins) {
  Groups group(neighbours.size(), Plane::kNone);
  std::uint32_t count = 0;
  std::vector<std::uint32_t> queue;
  for (std::uint32_t first = 0; first < group.size(); ++first) {
    if (group[first] != Plane::kNone) continue;
    queue.assign(1, first);
    group[first] = count;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::uint32_t to : neighbours[queue[i]]) {
        if (group[to] != Plane::kNone || !joins(queue[i], to)) continue;
        group[to] = count;
        queue.push_back(to);
      }
    }
    ++count;
  }
  return group;
}

Groups named_groups(const Topology& topology, const Plane& plane) {
  std::map<std::string_view, std::uint32_t> numbers;
  Groups group;
  for (const SwitchId sw : plane.switches) {
    if (topology.group(sw).empty()) return {};
    const auto number = static_cast<std::uint32_t>(numbers.size());
    group.push_back(numbers.try_emplace(topology.group(sw), number).first->second);
  }
  return group;
}

class Shape {
 public:
  Shape(const Plane& plane, const std::vector<std::vector<std::uint32_t>>& neighbours, Groups group)
      : plane_(plane), neighbours_(neighbours) {
    found_.groups = group.empty() ? 0 : std::ranges::max(group) + 1;
    found_.group = std::move(group);
    members_.resize(found_.groups);
    for (std::uint32_t s = 0; s < found_.group.size(); ++s) members_[found_.group[s]].push_back(s);
  }

  std::optional<DragonflyGroups> dragonfly() {
    if (found_.groups == 0 || plane_.switch_count() < 3 || !groups_joined()) return std::nullopt;
    for (const auto& members : members_) {
      std::size_t pairs = 0;
      for (const std::uint32_t s : members) pairs += local_neighbours(s);
      if (!mostly(pairs, members.size() * (members.size() - 1))) return std::nullopt;
    }
    for (std::size_t s = 0; s < plane_.switch_count(); ++s) {
      for (const Arc& arc : plane_.arcs_of(s)) {
        found_.arcs.push_back(same_group(s, arc.to) ? DragonflyArc::local : DragonflyArc::global);
      }
    }
    return std::move(found_);
  }

  std::optional<DragonflyGroups> dragonfly_plus() {
    if (found_.groups < 2 || !groups_joined()) return std::nullopt;
    // Spines have no hosts. A switch without hosts is a leaf if all its neighbours are spines of its group.
    std::vector<std::uint8_t> leaf(plane_.switch_count());
    for (std::size_t s = 0; s < leaf.size(); ++s) {
      leaf[s] = plane_.tier[s] == 0 ? 1 : 0;
      if (plane_.tier[s] < 2) continue;
      const bool all_local = local_neighbours(s) == neighbours_[s].size();
      const bool on_spines = std::ranges::all_of(neighbours_[s], [&](std::uint32_t n) { return plane_.tier[n] == 1; });
      if (all_local && on_spines) leaf[s] = 1;
    }
    for (std::size_t s = 0; s < leaf.size(); ++s) {
      for (const Arc& arc : plane_.arcs_of(s)) {
        const bool same = same_group(s, arc.to);
        const bool fits = same ? leaf[s] != leaf[arc.to] : leaf[s] == 0 && leaf[arc.to] == 0;
        if (!fits) return std::nullopt;
        found_.arcs.push_back(!same ? DragonflyArc::global : leaf[s] != 0 ? DragonflyArc::up : DragonflyArc::down);
      }
    }
    for (const auto& members : members_) {
      std::size_t leaves = 0, pairs = 0;
      for (const std::uint32_t s : members) {
        leaves += leaf[s];
        if (leaf[s] != 0) pairs += neighbours_[s].size();
      }
      if (!mostly(pairs, leaves * (members.size() - leaves))) return std::nullopt;
    }
    found_.plus = true;
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool same_group(std::size_t a, std::size_t b) const { return found_.group[a] == found_.group[b]; }
  [[nodiscard]] std::size_t local_neighbours(std::size_t s) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(neighbours_[s], [&](std::uint32_t to) { return same_group(s, to); }));
  }
  [[nodiscard]] bool groups_joined() const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
    for (std::size_t s = 0; s < plane_.switch_count(); ++s) {
      for (const std::uint32_t to : neighbours_[s]) {
        if (!same_group(s, to)) joined.emplace(found_.group[s], found_.group[to]);
      }
    }
    return mostly(joined.size(), std::size_t{found_.groups} * (found_.groups - 1));
  }

  const Plane& plane_;
  const std::vector<std::vector<std::uint32_t>>& neighbours_;
  DragonflyGroups found_;
  std::vector<std::vector<std::uint32_t>> members_;  // by group
};

// By switch and neighbour: the number of neighbours that both have, which is large within a mesh.
std::vector<std::vector<std::uint32_t>> shared_neighbours(const std::vector<std::vector<std::uint32_t>>& neighbours) {
  std::vector<std::vector<std::uint32_t>> shared(neighbours.size());
  std::vector<std::uint32_t> both;
  for (std::size_t s = 0; s < neighbours.size(); ++s) {
    for (const std::uint32_t to : neighbours[s]) {
      both.clear();
      std::ranges::set_intersection(neighbours[s], neighbours[to], std::back_inserter(both));
      shared[s].push_back(static_cast<std::uint32_t>(both.size()));
    }
  }
  return shared;
}

}  // namespace

std::optional<DragonflyGroups> DragonflyGroups::find(const Topology& topology, const Plane& plane) {
  if (plane.switch_count() < 3) return std::nullopt;
  const auto neighbours = neighbours_of(plane);
  if (const Groups named = named_groups(topology, plane); !named.empty() && std::ranges::max(named) > 0) {
    if (auto found = Shape(plane, neighbours, named).dragonfly_plus()) return found;
    if (auto found = Shape(plane, neighbours, named).dragonfly()) return found;
  }
  const Groups clos =
      parts(neighbours, [&](std::uint32_t a, std::uint32_t b) { return plane.tier[a] != plane.tier[b]; });
  if (auto found = Shape(plane, neighbours, clos).dragonfly_plus()) return found;
  // Nearly all switches of a dragonfly have hosts; this excludes large trees at once.
  const auto leaves = static_cast<std::size_t>(std::ranges::count(plane.tier, std::uint8_t{0}));
  if (!mostly(leaves, plane.switch_count())) return std::nullopt;
  const auto shared = shared_neighbours(neighbours);
  std::set<std::uint32_t> counts;
  for (const auto& list : shared) counts.insert(list.begin(), list.end());
  counts.erase(0U);
  for (const std::uint32_t least : counts) {
    const Groups meshes = parts(neighbours, [&](std::uint32_t a, std::uint32_t b) {
      const auto at = std::ranges::lower_bound(neighbours[a], b) - neighbours[a].begin();
      return shared[a][static_cast<std::size_t>(at)] >= least;
    });
    if (auto found = Shape(plane, neighbours, meshes).dragonfly()) return found;
  }
  return std::nullopt;
}

std::string DragonflyGroups::text() const {
  if (groups == 1) return fmt::format("a full mesh of {} switches", group.size());
  return fmt::format("{}{} groups", plus ? "a dragonfly+ of " : "a dragonfly of ", groups);
}

}  // namespace railweave::fabric
