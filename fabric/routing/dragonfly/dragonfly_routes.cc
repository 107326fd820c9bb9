#include "fabric/routing/dragonfly/dragonfly_routes.h"

#include <algorithm>
#include <utility>

namespace railweave::fabric {

DragonflyRoutes::DragonflyRoutes(const Plane& plane, const LivePlane& live, const DragonflyGroups& groups)
    : plane_(plane), live_(live), groups_(groups) {}

void DragonflyRoutes::compute(std::uint32_t home, ToHome& to_home) {
  distance_.assign(plane_.switch_count(), UINT32_MAX);
  settled_.assign(plane_.switch_count(), 0);
  to_home.nearest_first.clear();
  const auto reach = [&](std::vector<std::vector<std::uint32_t>>& buckets, std::uint32_t s, std::uint32_t distance) {
    if (distance >= distance_[s]) return;
    distance_[s] = distance;
    const std::uint32_t bucket = distance % kGlobal;
    if (buckets.size() <= bucket) buckets.resize(bucket + 1);
    buckets[bucket].push_back(s);
  };
  reach(now_, home, 0);
  const auto any = [](const auto& buckets) {
    return std::ranges::any_of(buckets, [](const auto& bucket) { return !bucket.empty(); });
  };
  for (; any(now_); std::swap(now_, next_)) {
    for (std::size_t bucket = 0; bucket < now_.size(); ++bucket) {
      for (std::size_t i = 0; i < now_[bucket].size(); ++i) {
        const std::uint32_t s = now_[bucket][i];
        if (distance_[s] % kGlobal != bucket || std::exchange(settled_[s], 1) != 0) continue;
        to_home.nearest_first.push_back(s);
        if (s != home && live_.drained[s] != 0) continue;
        for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
          if (live_.usable[a] == 0) continue;
          const bool global = groups_.arcs[a] == DragonflyArc::global;
          reach(global ? next_ : now_, plane_.arcs[a].to, distance_[s] + (global ? kGlobal : 1));
        }
      }
      now_[bucket].clear();
    }
  }
  to_home.first_arc.assign(1, 0);
  to_home.arcs.clear();
  for (const std::uint32_t s : to_home.nearest_first) {
    for (std::uint32_t a = plane_.first_arc[s]; s != home && a < plane_.first_arc[s + 1]; ++a) {
      const std::uint32_t to = plane_.arcs[a].to;
      const std::uint32_t cost = groups_.arcs[a] == DragonflyArc::global ? kGlobal : 1;
      if (live_.usable[a] == 0 || distance_[to] + cost != distance_[s]) continue;
      if (to == home || live_.drained[to] == 0) to_home.arcs.push_back(a);
    }
    to_home.first_arc.push_back(static_cast<std::uint32_t>(to_home.arcs.size()));
  }
}

DragonflyRoutes::Pattern DragonflyRoutes::prepend(std::uint32_t arc, Pattern rest) const {
  const bool empty = rest == Pattern::empty;
  switch (groups_.arcs[arc]) {
    case DragonflyArc::local:
      return empty ? Pattern::local : rest == Pattern::global ? Pattern::local_then_global : Pattern::other;
    case DragonflyArc::global:
      return empty || rest == Pattern::local || rest == Pattern::down ? Pattern::global : Pattern::other;
    case DragonflyArc::down:
      return empty ? Pattern::down : Pattern::other;
    case DragonflyArc::up:
      return empty || rest == Pattern::down || rest == Pattern::global ? Pattern::up : Pattern::other;
  }
  return Pattern::other;
}

PlaneLanes DragonflyRoutes::lanes() const {
  PlaneLanes lanes;
  lanes.lanes = groups_.plus || groups_.groups == 1 ? 1 : 2;
  lanes.classes = 3;  // 1: within a group, 2: between groups
  for (const DragonflyArc arc : groups_.arcs) lanes.arc_class.push_back(arc == DragonflyArc::global ? 2 : 1);
  lanes.lane_table.assign(std::size_t{lanes.classes} * lanes.classes, 0);
  if (lanes.lanes == 2) lanes.lane_table[2 * lanes.classes + 1] = 1;
  return lanes;
}

std::vector<std::vector<std::uint32_t>> DragonflyRoutes::turns(unsigned lanes) const {
  std::vector<std::vector<std::uint32_t>> next(plane_.arcs.size() * lanes);
  for (std::uint32_t in = 0; in < plane_.arcs.size(); ++in) {
    const std::uint32_t s = plane_.arcs[in].to;
    if (live_.usable[in] == 0 || live_.drained[s] != 0) continue;
    for (std::uint32_t out = plane_.first_arc[s]; out < plane_.first_arc[s + 1]; ++out) {
      const DragonflyArc from = groups_.arcs[in], by = groups_.arcs[out];
      const bool lands = from == DragonflyArc::global && by == DragonflyArc::local;
      if (live_.usable[out] == 0 || (from >= by && !lands)) continue;
      next[in * lanes].push_back(out * lanes + (lands ? 1 : 0));
    }
  }
  return next;
}

}  // namespace railweave::fabric
