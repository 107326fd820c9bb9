#include "fabric/routing/torus/torus_routes.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace railweave::fabric {

TorusRoutes::TorusRoutes(const Plane& plane, const LivePlane& live, const TorusGrid& grid)
    : plane_(plane),
      live_(live),
      grid_(grid),
      arcs_(plane.switch_count() * grid.dimensions() * 2),
      run_(arcs_.size(), 0),
      intact_(plane.switch_count() * grid.dimensions(), 0),
      bit_(grid.dimensions(), kNoBit) {
  for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      if (live.usable[a] == 0) continue;
      const auto step = grid.step(a);
      arcs_[(s * grid.dimensions() + step.dimension) * 2 + step.direction].push_back(a);
    }
  }
  // Long rings need their bit; bits that remain give detours more levels to choose from.
  std::uint8_t bits = 0;
  for (const bool long_rings : {true, false}) {
    for (unsigned d = 0; d < grid.dimensions(); ++d) {
      if ((grid.size(d) >= 4) == long_rings && bits < TorusGrid::kMaxLongRings) bit_[d] = bits++;
    }
  }
  for (unsigned d = 0; d < grid.dimensions(); ++d) measure_runs(d);
}

void TorusRoutes::measure_runs(unsigned d) {
  const std::uint32_t size = grid_.size(d);
  std::vector<std::uint32_t> ring(size);
  for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
    const std::uint32_t at = grid_.coordinate(s, d);
    // Every ring is measured once, from its lowest switch.
    std::uint32_t lowest = 0;
    while (grid_.moved(s, d, lowest) == Plane::kNone) ++lowest;
    if (at != lowest) continue;
    bool intact = true;
    for (std::uint32_t i = 0; i < size; ++i) {
      ring[i] = grid_.moved(s, d, i);
      intact = intact && ring[i] != Plane::kNone && live_.drained[ring[i]] == 0 && !arcs(ring[i], d, 0).empty();
    }
    for (unsigned direction = 0; direction < 2; ++direction) {
      const auto beyond = [&](std::uint32_t i) { return direction == 0 ? (i + 1) % size : (i + size - 1) % size; };
      for (std::uint32_t i = 0; i < size; ++i) {
        if (ring[i] == Plane::kNone) continue;
        std::uint32_t steps = 0;
        for (std::uint32_t j = i; steps + 1 < size; j = beyond(j), ++steps) {
          if (j != i && live_.drained[ring[j]] != 0) break;
          if (arcs(ring[j], d, direction).empty()) break;
        }
        run_[(ring[i] * grid_.dimensions() + d) * 2 + direction] = steps;
        intact_[ring[i] * grid_.dimensions() + d] = intact ? 1 : 0;
      }
    }
  }
}

bool TorusRoutes::along(std::uint32_t s, unsigned d, std::uint32_t target, unsigned parity, Route& route) const {
  const std::uint32_t size = grid_.size(d), at = grid_.coordinate(s, d);
  const std::uint32_t ahead = target >= at ? target - at : target + size - at, back = size - ahead;
  const std::uint32_t* run = run_.data() + (s * grid_.dimensions() + d) * 2;
  const bool can_ahead = ahead <= run[0], can_back = back <= run[1];
  if (!can_ahead && !can_back) return false;
  bool forward = can_ahead;
  if (can_ahead && can_back) forward = ahead == back ? ((at + parity) & 1U) == 0 : ahead < back;
  route.dimension = static_cast<std::uint8_t>(d);
  route.direction = forward ? 0 : 1;
  route.length = static_cast<std::uint16_t>(forward ? ahead : back);
  route.next = grid_.moved(s, d, forward ? (at + 1 == size ? 0 : at + 1) : (at == 0 ? size - 1 : at - 1));
  // In rings of three no path passes straight through a switch unless the ring is broken.
  const bool crosses = size >= 4 && (forward ? target < at : target > at);
  route.level = crosses && bit_[d] != kNoBit ? static_cast<std::uint8_t>(1U << bit_[d]) : std::uint8_t{0};
  return true;
}

void TorusRoutes::compute(std::uint32_t home, unsigned parity, std::vector<Route>& routes) const {
  const std::size_t n = plane_.switch_count();
  routes.assign(n, Route());
  const unsigned dimensions = grid_.dimensions();
  bool complete = true;
  // By the first dimension in which a switch differs from the home, the last dimension first: the corner at which a
  // route turns differs in a later one only.
  std::vector<std::vector<std::uint32_t>> wrong_in(dimensions);
  for (std::uint32_t s = 0; s < n; ++s) {
    unsigned d = 0;
    while (d < dimensions && grid_.coordinate(s, d) == grid_.coordinate(home, d)) ++d;
    if (d < dimensions) wrong_in[d].push_back(s);
  }
  for (unsigned d = dimensions; d-- > 0;) {
    const std::uint32_t target = grid_.coordinate(home, d);
    for (const std::uint32_t s : wrong_in[d]) {
      Route route;
      const std::uint32_t corner = grid_.moved(s, d, target);
      bool ok = corner != Plane::kNone && along(s, d, target, parity, route);
      if (ok && corner != home) {
        const Route& rest = routes[corner];
        ok = rest.next != Plane::kNone && live_.drained[corner] == 0;
        route.length = static_cast<std::uint16_t>(route.length + rest.length);
        route.level |= rest.level;
      }
      if (ok) {
        routes[s] = route;
      } else {
        complete = false;
      }
    }
  }
  if (!complete) add_detours(home, routes);
}

void TorusRoutes::add_detours(std::uint32_t home, std::vector<Route>& routes) const {
  using Candidate = std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>;  // length, switch, arc
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto spread = [&](std::uint32_t s) {
    if (s != home && live_.drained[s] != 0) return;
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      const Arc& arc = plane_.arcs[a];
      if (live_.usable[a] == 0 || arc.to == home || routes[arc.to].next != Plane::kNone) continue;
      queue.emplace(static_cast<std::uint16_t>(routes[s].length + 1), arc.to, arc.reverse);
    }
  };
  for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
    if (s == home || routes[s].next != Plane::kNone) continue;
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      const std::uint32_t to = plane_.arcs[a].to;
      const bool has_route = to == home || (routes[to].next != Plane::kNone && live_.drained[to] == 0);
      if (live_.usable[a] != 0 && has_route) queue.emplace(static_cast<std::uint16_t>(routes[to].length + 1), s, a);
    }
  }
  while (!queue.empty()) {
    const auto [length, s, arc] = queue.top();
    queue.pop();
    if (routes[s].next != Plane::kNone) continue;
    const auto step = grid_.step(arc);
    routes[s] = {plane_.arcs[arc].to, length, 0, step.dimension, step.direction, true};
    spread(s);
  }
}

PlaneLanes TorusRoutes::lanes() const {
  PlaneLanes lanes;
  unsigned bits = 0;
  for (const std::uint8_t bit : bit_) bits += bit == kNoBit ? 0 : 1;
  lanes.lanes = 2;
  lanes.levels = static_cast<std::uint8_t>(1U << bits);
  lanes.classes = static_cast<std::uint8_t>(1 + grid_.dimensions());
  for (std::size_t a = 0; a < plane_.arcs.size(); ++a) {
    lanes.arc_class.push_back(static_cast<std::uint8_t>(1 + grid_.step(a).dimension));
  }
  for (unsigned from = 0; from < lanes.classes; ++from) {
    for (unsigned by = 0; by < lanes.classes; ++by) {
      for (unsigned level = 0; level < lanes.levels; ++level) {
        const std::uint8_t bit = by == 0 ? kNoBit : bit_[by - 1];
        lanes.lane_table.push_back(bit == kNoBit ? std::uint8_t{0} : static_cast<std::uint8_t>(level >> bit & 1U));
      }
    }
  }
  return lanes;
}

// Whether a packet on the lane may pass straight through s along a ring.
bool TorusRoutes::turns_along(std::uint32_t s, TorusGrid::Step step, unsigned lane) const {
  const std::uint32_t size = grid_.size(step.dimension);
  const bool intact = intact_[s * grid_.dimensions() + step.dimension] != 0;
  if (size < 4) return size == 3 && lane == 0 && !intact;
  // Counted in the direction of the packet, with the dateline before 0.
  const std::uint32_t at =
      step.direction == 0 ? grid_.coordinate(s, step.dimension) : size - 1 - grid_.coordinate(s, step.dimension);
  if (lane == 0) return at != 0 && at + 1 != size;
  if (!intact) return true;
  return std::min(at + 2, size - at + 1) <= size / 2;  // links from before this switch to past the dateline, or back
}

std::vector<std::vector<std::uint32_t>> TorusRoutes::turns(unsigned lanes) const {
  std::vector<std::vector<std::uint32_t>> next(plane_.arcs.size() * lanes);
  const auto lane_count = [&](unsigned dimension) { return bit_[dimension] == kNoBit ? 1U : 2U; };
  for (std::uint32_t in = 0; in < plane_.arcs.size(); ++in) {
    const std::uint32_t s = plane_.arcs[in].to;
    if (live_.usable[in] == 0 || live_.drained[s] != 0) continue;
    const auto in_step = grid_.step(in);
    for (std::uint32_t out = plane_.first_arc[s]; out < plane_.first_arc[s + 1]; ++out) {
      if (live_.usable[out] == 0) continue;
      const auto out_step = grid_.step(out);
      for (unsigned in_lane = 0; in_lane < lane_count(in_step.dimension); ++in_lane) {
        for (unsigned out_lane = 0; out_lane < lane_count(out_step.dimension); ++out_lane) {
          const bool turns =
              in_step.dimension == out_step.dimension
                  ? in_step.direction == out_step.direction && in_lane == out_lane && turns_along(s, in_step, in_lane)
                  : in_step.dimension < out_step.dimension;
          if (turns) next[in * lanes + in_lane].push_back(out * lanes + out_lane);
        }
      }
    }
  }
  return next;
}

}  // namespace railweave::fabric
