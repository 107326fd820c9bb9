#include "fabric/routing/audit/mixture.h"

#include <algorithm>

namespace railweave::fabric {

const PlaneLanes& lanes_of(const Lanes& lanes, PlaneId plane) {
  static const PlaneLanes one_lane;
  return plane.index() < lanes.planes.size() ? lanes.planes[plane.index()] : one_lane;
}

Mixture::Mixture(const Plane& plane, const PortMap& ports, const PlaneLanes& before, const PlaneLanes& after)
    : plane_(plane),
      ports_(ports),
      before_(before),
      after_(after),
      levels_(std::max<unsigned>({1, before.levels, after.levels, before.lanes, after.lanes})),
      arcs_(plane.switch_count(), {PortMap::kNothing, PortMap::kNothing, PortMap::kNothing}),
      lanes_on_(plane.switch_count() * kEntries * levels_, 0) {}

void Mixture::spread(std::uint32_t destination) {
  std::ranges::fill(lanes_on_, 0);
  queue_.clear();
  const std::uint32_t home = home_of(destination);
  const auto put = [&](std::uint32_t s, unsigned k, unsigned level, unsigned lane) {
    std::uint16_t& lanes = lanes_on(s, k, level);
    if ((lanes >> lane & 1U) != 0) return;
    lanes = static_cast<std::uint16_t>(lanes | 1U << lane);
    queue_.push_back(s * kEntries + k);
  };
  for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
    const std::uint32_t s = plane_.homes[h].sw;
    if (ports_.sources[s] == 0 || s == home) continue;
    for (const PlaneLanes* lanes : {&before_, &after_}) {
      const unsigned level = lanes->level(h, destination, plane_.destination_count());
      for (unsigned k = 0; k < kEntries; ++k) {
        if (arcs_[s][k] >= PortMap::kDead || !follows(kOld, s, k)) continue;
        put(s, k, level, after_.lane(PlaneLanes::kFromEndPort, arcs_[s][k], level));
      }
    }
  }
  while (!queue_.empty()) {
    const std::uint32_t from = queue_.back();
    queue_.pop_back();
    const std::uint32_t in = arcs_[from / kEntries][from % kEntries];
    const std::uint32_t to = plane_.arcs[in].to;
    if (to == home) continue;
    for (unsigned k = 0; k < kEntries; ++k) {
      const std::uint32_t out = arcs_[to][k];
      if (out >= PortMap::kDead || !follows(from % kEntries, to, k)) continue;
      for (unsigned level = 0; level < levels_; ++level) {
        if (lanes_on(from / kEntries, from % kEntries, level) != 0) put(to, k, level, after_.lane(in, out, level));
      }
    }
  }
}

}  // namespace railweave::fabric
