// For every home and switch of a plane the arcs that packets may leave by, all of them nearer to the home: the room
// that balancing has. Immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/up_down/reach.h"

namespace railweave::fabric {

class NextHops {
 public:
  // On routes that go up and then down.
  static NextHops up_down(const Plane& plane, const std::vector<ArcWay>& ways, const Reach& reach);
  // On shortest routes of any kind.
  static NextHops shortest(const Plane& plane, const LivePlane& live);

  [[nodiscard]] std::span<const std::uint32_t> arcs(std::size_t home, std::size_t s) const {
    const std::size_t i = home * switches_ + s;
    return std::span(arcs_).subspan(first_[i], first_[i + 1] - first_[i]);
  }
  // Switches that reach the home, the nearest first: its own switch.
  [[nodiscard]] std::span<const std::uint32_t> nearest_first(std::size_t home) const {
    return std::span(order_).subspan(first_in_order_[home], first_in_order_[home + 1] - first_in_order_[home]);
  }
  [[nodiscard]] std::size_t arc_count() const { return arcs_.size(); }

  // The load of the fullest arc if every host port sent the same to every other and every switch split evenly over its
  // arcs, in 2^-20 of a pair of host ports, over arcs of the slowest rate.
  [[nodiscard]] std::uint64_t even_split_load(const Plane& plane) const;

 private:
  template <class Leads, class Distance>
  static NextHops make(const Plane& plane, Distance distance, Leads leads);

  std::size_t switches_ = 0;
  std::vector<std::size_t> first_;  // by home x switch
  std::vector<std::uint32_t> arcs_;
  std::vector<std::size_t> first_in_order_;  // by home
  std::vector<std::uint32_t> order_;
};

// By arc: how much a pair weighs on it, in 1/64: 64 on arcs of the slowest rate of the plane, less on faster ones. With
// `live`, times the cost of the link.
std::vector<std::uint32_t> pair_weights(const Plane& plane, const LivePlane* live = nullptr);

}  // namespace railweave::fabric
