#include "fabric/routing/plane/switch_order.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

namespace {

constexpr std::uint32_t kFar = UINT32_MAX;

// Links from `from` to every switch; kFar where it is not connected.
std::vector<std::uint32_t> distances_from(const Plane& plane, std::uint32_t from, std::vector<std::uint32_t>& queue) {
  std::vector<std::uint32_t> distance(plane.switch_count(), kFar);
  queue.assign(1, from);
  distance[from] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::uint32_t s = queue[next];
    for (const Arc& arc : plane.arcs_of(s)) {
      if (distance[arc.to] != kFar) continue;
      distance[arc.to] = distance[s] + 1;
      queue.push_back(arc.to);
    }
  }
  return distance;
}

SwitchOrder order_of(std::vector<std::uint32_t> ascending, bool layered) {
  SwitchOrder order;
  order.position.resize(ascending.size());
  for (std::uint32_t i = 0; i < ascending.size(); ++i) order.position[ascending[i]] = i;
  order.ascending = std::move(ascending);
  order.layered = layered;
  return order;
}

std::vector<std::uint32_t> all_switches(std::size_t count) {
  std::vector<std::uint32_t> switches(count);
  for (std::uint32_t s = 0; s < count; ++s) switches[s] = s;
  return switches;
}

// Sum over all host ports (over all homes where there are none) of the distance to each switch.
std::vector<std::uint64_t> remoteness(const Plane& plane) {
  const bool hosts = std::ranges::any_of(plane.homes, [](const Home& home) { return home.host_ports > 0; });
  std::vector<std::uint64_t> sum(plane.switch_count(), 0);
  std::vector<std::uint32_t> queue;
  for (const Home& home : plane.homes) {
    const std::uint64_t weight = hosts ? home.host_ports : 1;
    if (weight == 0) continue;
    const auto distance = distances_from(plane, home.sw, queue);
    for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += weight * distance[s];  // a plane is connected as cabled
  }
  return sum;
}

}  // namespace

Ranking tier_ranking(const Plane& plane) {
  Ranking ranking(plane.switch_count(), 0);
  for (std::size_t s = 0; s < ranking.size(); ++s) {
    ranking[s] = plane.tier[s] == Topology::kNoTier ? 0U : plane.tier[s];
  }
  return ranking;
}

Ranking central_ranking(const Plane& plane) {
  const auto remote = remoteness(plane);
  const Ranking tiers = tier_ranking(plane);
  const auto key = [&](std::uint32_t s) { return std::tuple(~remote[s], tiers[s]); };
  auto switches = all_switches(plane.switch_count());
  std::ranges::sort(switches, {}, key);
  Ranking ranking(plane.switch_count(), 0);
  std::uint32_t rank = 0;
  for (std::size_t i = 1; i < switches.size(); ++i) {
    if (key(switches[i]) != key(switches[i - 1])) ++rank;
    ranking[switches[i]] = rank;
  }
  return ranking;
}

Ranking root_ranking(const Plane& plane) {
  const auto remote = remoteness(plane);
  const auto root = static_cast<std::uint32_t>(std::ranges::min_element(remote) - remote.begin());
  std::vector<std::uint32_t> queue;
  const auto distance = distances_from(plane, root, queue);
  const std::uint32_t farthest = std::ranges::max(distance);
  Ranking ranking(plane.switch_count());
  for (std::size_t s = 0; s < ranking.size(); ++s) ranking[s] = farthest - distance[s];
  return ranking;
}

bool is_layered(const Plane& plane, const Ranking& ranking) {
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    for (const Arc& arc : plane.arcs_of(s)) {
      const std::uint32_t a = ranking[s], b = ranking[arc.to];
      if (a + 1 != b && b + 1 != a) return false;
    }
  }
  return true;
}

SwitchOrder order_by(const Plane& plane, const Ranking& ranking) {
  auto switches = all_switches(plane.switch_count());
  std::ranges::stable_sort(switches, {}, [&](std::uint32_t s) { return ranking[s]; });
  return order_of(std::move(switches), is_layered(plane, ranking));
}

SwitchOrder lower_drained(const SwitchOrder& order, const LivePlane& live) {
  if (live.drained_count == 0) return order;
  auto switches = order.ascending;
  std::ranges::stable_partition(switches, [&](std::uint32_t s) { return live.drained[s] != 0; });
  return order_of(std::move(switches), order.layered);
}

SwitchOrder flooded(const Plane& plane, const LivePlane& live, const SwitchOrder& order) {
  struct Reached {
    std::uint32_t level;  // its position, or that of the pass it lies behind
    std::uint32_t depth;  // links behind the pass
    std::uint32_t position;
    std::uint32_t sw;
    bool operator<(const Reached& other) const {
      return std::tuple(level, ~depth, position) < std::tuple(other.level, ~other.depth, other.position);
    }
  };
  const std::size_t count = plane.switch_count();
  std::vector<bool> reached(count, false);
  std::vector<std::uint32_t> descending;
  std::priority_queue<Reached> queue;
  for (auto top = order.ascending.rbegin(); top != order.ascending.rend(); ++top) {
    if (reached[*top] || live.drained[*top] != 0) continue;
    reached[*top] = true;
    queue.push({order.position[*top], 0, order.position[*top], *top});
    while (!queue.empty()) {
      const Reached from = queue.top();
      queue.pop();
      descending.push_back(from.sw);
      for (std::uint32_t a = plane.first_arc[from.sw]; a < plane.first_arc[from.sw + 1]; ++a) {
        const std::uint32_t to = plane.arcs[a].to;
        if (live.usable[a] == 0 || reached[to] || live.drained[to] != 0) continue;
        reached[to] = true;
        const std::uint32_t position = order.position[to];
        const bool behind = position > from.level;
        queue.push({behind ? from.level : position, behind ? from.depth + 1 : 0, position, to});
      }
    }
  }
  for (auto s = order.ascending.rbegin(); s != order.ascending.rend(); ++s) {
    if (live.drained[*s] != 0) descending.push_back(*s);
  }
  std::ranges::reverse(descending);
  return order_of(std::move(descending), false);
}

}  // namespace railweave::fabric
