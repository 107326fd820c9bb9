#include "fabric/routing/audit/mixture.h"

#include <algorithm>

namespace railweave::fabric {

const PlaneLanes& lanes_of(const Lanes& lanes, PlaneId plane) {
  static const PlaneLanes one_lane;
  return plane.index() < lanes.planes.size() ? lanes.planes[plane.index()] : one_lane;
}

Mixture::Mixture(const Plane& plane, const PortMap& ports, std::span<const PlaneLanes* const> lanes)
    : plane_(plane),
      ports_(ports),
      lanes_(lanes.begin(), lanes.end()),
      entries_(static_cast<unsigned>(lanes.size())),
      arcs_(plane.switch_count() * entries_, PortMap::kNothing) {
  for (const PlaneLanes* one : lanes_) levels_ = std::max<unsigned>({levels_, one->levels, one->lanes});
  lanes_on_.assign(plane.switch_count() * entries_ * levels_, 0);
}

void Mixture::spread(std::uint32_t destination) {
  std::ranges::fill(lanes_on_, 0);
  queue_.clear();
  const std::uint32_t home = home_of(destination);
  const auto put = [&](std::uint32_t s, unsigned k, unsigned level, unsigned lane) {
    std::uint16_t& lanes = lanes_on(s, k, level);
    if ((lanes >> lane & 1U) != 0) return;
    lanes = static_cast<std::uint16_t>(lanes | 1U << lane);
    queue_.push_back(s * entries_ + k);
  };
  for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
    const std::uint32_t s = plane_.homes[h].sw;
    if (ports_.sources[s] == 0 || s == home) continue;
    for (const PlaneLanes* lanes : lanes_) {
      const unsigned level = lanes->level(h, destination, plane_.destination_count());
      for (unsigned k = 0; k < entries_; ++k) {
        const std::uint32_t out = arcs_[s * entries_ + k];
        if (out >= PortMap::kDead || !follows(kOld, s, k)) continue;
        put(s, k, level, maps().lane(PlaneLanes::kFromEndPort, out, level));
      }
    }
  }
  while (!queue_.empty()) {
    const std::uint32_t from = queue_.back();
    queue_.pop_back();
    const std::uint32_t in = arcs_[from];
    const std::uint32_t to = plane_.arcs[in].to;
    if (to == home) continue;
    for (unsigned k = 0; k < entries_; ++k) {
      const std::uint32_t out = arcs_[to * entries_ + k];
      if (out >= PortMap::kDead || !follows(from % entries_, to, k)) continue;
      for (unsigned level = 0; level < levels_; ++level) {
        if (lanes_on(from / entries_, from % entries_, level) != 0) put(to, k, level, maps().lane(in, out, level));
      }
    }
  }
}

}  // namespace railweave::fabric
