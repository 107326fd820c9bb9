// How far every switch of a plane is from every home switch by routes that go up and then down, and hence which ports
// lead there. These are the reachability sets of the closed-form fat-tree algorithm with the distance kept: down(s)
// holds a home where it is reached going down, total(s) also says after how many links by way of the parents.
//
// Which way a switch sends packets may not depend on where they came from. So a switch that some parent goes down
// through towards a home must go on down itself, even where up would be as short. On layered orders it is enough to go
// down wherever one can. On others:
//   - a switch goes down *naturally* towards a home where that is shorter than any way up;
//   - a switch that neither goes down naturally nor is made to by a parent takes the shorter of its parents and its
//   natural
//     children, or both;
//   - only a switch that would have no way otherwise goes down through others, which then must go down too.
//
// A value that copies cheaply; published copies are const and may be read by any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/distance_rows.h"
#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/shared_tiles.h"
#include "fabric/routing/plane/switch_order.h"

namespace railweave::fabric {

enum class ArcWay : std::uint8_t { none, down, up };
std::vector<ArcWay> arc_ways(const Plane& plane, const LivePlane& live, const SwitchOrder& order);

class Reach {
 public:
  Reach() = default;
  Reach(const Plane& plane, const std::vector<ArcWay>& ways, const SwitchOrder& order);

  // Rows by home, row_bytes() long, padded with kUnreachable.
  [[nodiscard]] const std::uint8_t* down(std::size_t s) const { return row(down_, s); }
  [[nodiscard]] const std::uint8_t* total(std::size_t s) const { return row(total_, s); }
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] bool layered() const { return layered_; }

  // May packets for the home leave s by the arc? All arcs that may are on routes of the same length.
  [[nodiscard]] bool leads(const Plane& plane, const std::vector<ArcWay>& ways, std::size_t s, std::size_t arc,
                           std::size_t home) const;
  // For all homes at once, not on layered orders: flags where arcs up, and arcs down to that child, may not be taken.
  // An arc leads where it is not barred and the distance at its other end (total() up, down() down) is one less than
  // total(s).
  [[nodiscard]] const std::uint8_t* bars_up(std::size_t s) const { return row(no_up_, s); }
  void bars_down(std::size_t s, std::size_t child, std::uint8_t* to) const;

  // A switch whose distances to a home changed.
  struct Change {
    std::uint32_t sw;
    std::uint32_t home;
  };
  // Brings the distances up to date after the arcs listed (both arcs of a link) changed; the order is that of before.
  // Returns what changed, maybe more than once.
  std::vector<Change> update(const Plane& plane, const std::vector<ArcWay>& ways, const SwitchOrder& order,
                             const std::vector<std::uint32_t>& changed_arcs);

 private:
  class Rows;
  static const std::uint8_t* row(const SharedTiles& rows, std::size_t s) {
    return reinterpret_cast<const std::uint8_t*>(rows[s]);
  }

  bool layered_ = true;
  std::size_t row_bytes_ = 0;
  SharedTiles down_, total_;
  // Not on layered orders. nearest_: the least distance up and then down, were the way free to depend on where packets
  // come from. Flags, 0 or 255: natural_: goes down naturally. no_up_: must go down. any_child_: goes down through
  // children that do not go down naturally as well.
  SharedTiles nearest_, natural_, no_up_, any_child_;
};

}  // namespace railweave::fabric
