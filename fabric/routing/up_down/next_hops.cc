#include "fabric/routing/up_down/next_hops.h"

#include <algorithm>

namespace railweave::fabric {

template <class Leads, class Distance>
NextHops NextHops::make(const Plane& plane, Distance distance, Leads leads) {
  NextHops hops;
  hops.switches_ = plane.switch_count();
  hops.first_.reserve(plane.homes.size() * hops.switches_ + 1);
  std::vector<std::uint32_t> reached;
  for (std::size_t home = 0; home < plane.homes.size(); ++home) {
    reached.clear();
    for (std::uint32_t s = 0; s < hops.switches_; ++s) {
      hops.first_.push_back(hops.arcs_.size());
      if (distance(home, s) == kUnreachable) continue;
      reached.push_back(s);
      for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
        if (leads(home, s, a)) hops.arcs_.push_back(a);
      }
    }
    std::ranges::stable_sort(reached, {}, [&](std::uint32_t s) { return distance(home, s); });
    hops.first_in_order_.push_back(hops.order_.size());
    hops.order_.insert(hops.order_.end(), reached.begin(), reached.end());
  }
  hops.first_.push_back(hops.arcs_.size());
  hops.first_in_order_.push_back(hops.order_.size());
  return hops;
}

NextHops NextHops::up_down(const Plane& plane, const std::vector<ArcDirection>& directions, const Reach& reach) {
  return make(
      plane, [&](std::size_t home, std::size_t s) { return reach.total(s)[home]; },
      [&](std::size_t home, std::size_t s, std::uint32_t a) { return reach.leads(plane, directions, s, a, home); });
}

NextHops NextHops::shortest(const Plane& plane, const LivePlane& live) {
  const std::size_t switches = plane.switch_count();
  std::vector<std::uint8_t> distances(plane.homes.size() * switches, kUnreachable);
  std::vector<std::uint32_t> queue;
  for (std::size_t home = 0; home < plane.homes.size(); ++home) {
    std::uint8_t* distance = distances.data() + home * switches;
    queue.assign(1, plane.homes[home].sw);
    distance[queue.front()] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::uint32_t s = queue[next];
      if ((live.drained[s] != 0 && next > 0) || distance[s] + 1 >= kUnreachable) continue;
      for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
        const std::uint32_t to = plane.arcs[a].to;
        if (live.usable[a] == 0 || distance[to] != kUnreachable) continue;
        distance[to] = static_cast<std::uint8_t>(distance[s] + 1);
        queue.push_back(to);
      }
    }
  }
  const auto distance_of = [&](std::size_t home, std::size_t s) { return distances[home * switches + s]; };
  return make(plane, distance_of, [&](std::size_t home, std::size_t s, std::uint32_t a) {
    const std::uint32_t to = plane.arcs[a].to;
    const bool passes = live.drained[to] == 0 || to == plane.homes[home].sw;
    return live.usable[a] != 0 && passes && distance_of(home, to) + 1 == distance_of(home, s);
  });
}

std::vector<std::uint32_t> pair_weights(const Plane& plane, const LivePlane* live) {
  std::uint32_t slowest = UINT32_MAX;
  for (const std::uint32_t rate : plane.arc_rate_mbps) {
    if (rate > 0) slowest = std::min(slowest, rate);
  }
  std::vector<std::uint32_t> weights;
  weights.reserve(plane.arcs.size());
  for (std::size_t a = 0; a < plane.arcs.size(); ++a) {
    const std::uint32_t rate = plane.arc_rate_mbps[a];
    std::uint64_t weight = rate == 0 ? 64 : std::uint64_t{64} * slowest / rate;
    if (live != nullptr) weight *= static_cast<std::uint64_t>(std::min(live->cost_of(a), 1024.0F));
    weights.push_back(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, weight)));
  }
  return weights;
}

std::uint64_t NextHops::even_split_load(const Plane& plane) const {
  const auto weight = pair_weights(plane);
  std::vector<std::uint64_t> load(plane.arcs.size(), 0), flow(switches_);
  for (std::size_t home = 0; home < plane.homes.size(); ++home) {
    const std::uint64_t hosts = plane.homes[home].host_ports;
    if (hosts == 0) continue;
    std::ranges::fill(flow, 0);
    for (const Home& from : plane.homes) flow[from.sw] = std::uint64_t{from.host_ports} << 20U;
    const auto order = nearest_first(home);
    for (std::size_t i = order.size(); i-- > 1;) {
      const std::uint32_t s = order[i];
      if (flow[s] == 0) continue;
      const auto out = arcs(home, s);
      std::uint64_t share = 0;                                      // of all arcs: in proportion to rate
      for (const std::uint32_t a : out) share += 4096 / weight[a];  // weights are 1 to 64 here
      for (const std::uint32_t a : out) {
        const std::uint64_t part = flow[s] * (4096 / weight[a]) / share;
        flow[plane.arcs[a].to] += part;
        load[a] += part * hosts * weight[a] / 64;
      }
    }
  }
  return load.empty() ? 0 : std::ranges::max(load);
}

}  // namespace railweave::fabric
