// Dimension-order routes on a torus in its present state: along the first dimension until its coordinate is right, then
// along the next. On a ring a route uses the shorter direction, or, where that is broken, the other. Immutable; any
// number of threads may read one.
//
// Free of credit loops on two lanes (as OpenSM's torus-2QoS): a path that crosses a ring's dateline (between the last
// switch and the first) is on lane 1 throughout that ring, others on lane 0. Neither minimal paths across the dateline
// nor any paths on a broken ring go all round. So one bit of the service level per ring tells switches the lane.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/torus/torus_grid.h"

namespace railweave::fabric {

class TorusRoutes {
 public:
  static constexpr std::uint8_t kNoBit = UINT8_MAX;

  TorusRoutes(const Plane& plane, const LivePlane& live, const TorusGrid& grid);

  struct Route {
    std::uint32_t next = Plane::kNone;  // switch; none: there is no route
    std::uint16_t length = 0;           // in links
    std::uint8_t level = 0;
    std::uint8_t dimension = 0;
    std::uint8_t direction = 0;
    bool detour = false;
  };
  // routes: from every switch to the home's. Where both directions round a ring are equally long, parity (0 or 1)
  // chooses. Where dimension order has no route: the shortest one to a switch from which it has (detour); level is then
  // not set.
  void compute(std::uint32_t home, unsigned parity, std::vector<Route>& routes) const;
  // The usable arcs from s in a direction.
  [[nodiscard]] const std::vector<std::uint32_t>& arcs(std::size_t s, unsigned dimension, unsigned direction) const {
    return arcs_[(s * grid_.dimensions() + dimension) * 2 + direction];
  }

  // Arc class: 1 + dimension. path_level is empty.
  [[nodiscard]] PlaneLanes lanes() const;
  // LaneScheme::turns of all routes that are no detours.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> turns(unsigned lanes) const;

 private:
  void measure_runs(unsigned dimension);
  [[nodiscard]] bool along(std::uint32_t s, unsigned d, std::uint32_t target, unsigned parity, Route& route) const;
  void add_detours(std::uint32_t home, std::vector<Route>& routes) const;
  [[nodiscard]] bool turns_along(std::uint32_t s, TorusGrid::Step step, unsigned lane) const;

  const Plane& plane_;
  const LivePlane& live_;
  const TorusGrid& grid_;
  std::vector<std::vector<std::uint32_t>> arcs_;  // by switch, dimension and direction
  std::vector<std::uint32_t> run_;                // the same: number of usable links in a row
  std::vector<std::uint8_t> intact_;              // by switch and dimension: no link of the ring is broken
  std::vector<std::uint8_t> bit_;                 // by dimension: of the service level
};

}  // namespace railweave::fabric
