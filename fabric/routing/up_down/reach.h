// The distance of every switch of a plane from every home on routes that go up and then down, in links, and hence the
// next hops. These are the reachability sets of the closed-form fat-tree algorithm, with distances: down(s) for routes
// that only go down, total(s) for all.
//
// The next hop of a packet may not depend on where it came from. So a switch through which some parent goes down
// towards a home must continue down, even where a route up is as short. On layered orders it is enough that every
// switch goes down wherever it can. On other orders:
//   - a switch goes down *naturally* towards a home where that is shorter than any route up;
//   - a switch that neither goes down naturally nor has to because of a parent uses the shorter of its parents and its
//     natural children, or both;
//   - only a switch that would have no route otherwise goes down through other children, which must then go down too.
//
// A value that is cheap to copy; published copies are const and may be read by any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/shared_tiles.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/up_down/distance_rows.h"

namespace railweave::fabric {

enum class ArcDirection : std::uint8_t { none, down, up };
std::vector<ArcDirection> arc_directions(const Plane& plane, const LivePlane& live, const SwitchOrder& order);

class Reach {
 public:
  Reach() = default;
  Reach(const Plane& plane, const std::vector<ArcDirection>& directions, const SwitchOrder& order);

  // Rows of distances by home, row_bytes() long, padded with kUnreachable.
  [[nodiscard]] const std::uint8_t* down(std::size_t s) const { return row(down_, s); }
  [[nodiscard]] const std::uint8_t* total(std::size_t s) const { return row(total_, s); }
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] bool layered() const { return layered_; }

  // Whether the arc is a next hop of s to the home. All next hops of s to a home are on routes of the same length.
  [[nodiscard]] bool leads(const Plane& plane, const std::vector<ArcDirection>& directions, std::size_t s,
                           std::size_t arc, std::size_t home) const;
  // For all homes at once, on orders that are not layered: flags where arcs up, or arcs down to that child, may not be
  // used. An arc is a next hop where it is not barred and the distance at its other end (total() for arcs up, down()
  // for arcs down) is one less than total(s).
  [[nodiscard]] const std::uint8_t* bars_up(std::size_t s) const { return row(no_up_, s); }
  void bars_down(std::size_t s, std::size_t child, std::uint8_t* to) const;

  // A switch whose distances to a home changed.
  struct Change {
    std::uint32_t sw;
    std::uint32_t home;
  };
  // Brings the distances up to date after some arcs changed (both arcs of each link), on the same order. Returns the
  // changes, some of them maybe more than once.
  std::vector<Change> update(const Plane& plane, const std::vector<ArcDirection>& directions, const SwitchOrder& order,
                             const std::vector<std::uint32_t>& changed_arcs);

 private:
  class Rows;
  static const std::uint8_t* row(const SharedTiles& rows, std::size_t s) {
    return reinterpret_cast<const std::uint8_t*>(rows[s]);
  }

  bool layered_ = true;
  std::size_t row_bytes_ = 0;
  SharedTiles down_, total_;
  // Only on orders that are not layered. nearest_: the least distance up and then down if next hops could depend on
  // where packets come from. Flags, 0 or 255: natural_: goes down naturally; no_up_: must go down; any_child_: goes
  // down also through children that do not go down naturally.
  SharedTiles nearest_, natural_, no_up_, any_child_;
};

// Distances, and the order and directions that they were computed with; a view. What leads() of it names are next hops.
struct DirectedReach {
  const SwitchOrder& order;
  const std::vector<ArcDirection>& directions;
  const Reach& reach;
};

}  // namespace railweave::fabric
