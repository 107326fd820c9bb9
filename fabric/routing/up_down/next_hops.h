// All next hops of a plane: for every home and switch the arcs by which packets may leave, each of which brings them
// nearer to the home. Port balancing chooses from them, multipath uses all of them. Immutable once made; any number of
// threads may read one.
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
  static NextHops up_down(const Plane& plane, const std::vector<ArcDirection>& directions, const Reach& reach);
  // On shortest routes of any kind.
  static NextHops shortest(const Plane& plane, const LivePlane& live);

  [[nodiscard]] std::span<const std::uint32_t> arcs(std::size_t home, std::size_t s) const {
    const std::size_t i = home * switches_ + s;
    return std::span(arcs_).subspan(first_[i], first_[i + 1] - first_[i]);
  }
  // Switches that reach the home, nearest first: its own switch is the first.
  [[nodiscard]] std::span<const std::uint32_t> nearest_first(std::size_t home) const {
    return std::span(order_).subspan(first_in_order_[home], first_in_order_[home + 1] - first_in_order_[home]);
  }
  [[nodiscard]] std::size_t arc_count() const { return arcs_.size(); }

  // The load of the fullest arc if every host port sent the same to every other and every switch split its traffic over
  // its arcs in proportion to their rates. In 2^-20 pairs of host ports, for arcs of the slowest rate; less for faster
  // ones.
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

// By arc: the load that one pair of end ports adds, in 1/64: 64 on arcs of the slowest rate of the plane, less on
// faster ones. With `live`, times the cost of the link.
std::vector<std::uint32_t> pair_weights(const Plane& plane, const LivePlane* live = nullptr);

}  // namespace railweave::fabric
