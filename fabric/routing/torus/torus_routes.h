// Dimension-order routes on a torus as it is now: along the first dimension until its coordinate is right, then along
// the next. On a ring the shorter way is taken, or, where something on it is broken, the other. Both are free of credit
// loops on two lanes: a path that crosses a ring's dateline (between the last switch and the first) is on lane 1 all
// along that ring, others on lane 0. Minimal paths across the dateline do not go round, nor does anything on a broken
// ring. So a bit of the service level per ring says all that switches need to know, as in OpenSM's torus-2QoS.
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
    std::uint32_t next = Plane::kNone;  // switch; none: dimension order has no way
    std::uint16_t length = 0;           // links
    std::uint8_t level = 0;
    std::uint8_t dimension = 0;
    std::uint8_t direction = 0;
    bool detour = false;
  };
  // From every switch to the home's. Where both ways round a ring are as long, parity (0 or 1) turns them.
  // Where dimension order has no way, the shortest one to a switch from which it has (detour); level is then unset.
  // Unset entirely where nothing leads there.
  void compute(std::uint32_t home, unsigned parity, std::vector<Route>& routes) const;
  // The arcs that carry traffic from s that way.
  [[nodiscard]] const std::vector<std::uint32_t>& arcs(std::size_t s, unsigned dimension, unsigned direction) const {
    return arcs_[(s * grid_.dimensions() + dimension) * 2 + direction];
  }

  // By arc class: 1 + dimension. path_level is left empty.
  [[nodiscard]] PlaneLanes lanes() const;
  // Turns of all paths that the above gives, or more, without a circle (LaneScheme::turns).
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
  std::vector<std::uint32_t> run_;                // likewise: links that can be passed one after the other
  std::vector<std::uint8_t> intact_;              // by switch and dimension: the ring is whole
  std::vector<std::uint8_t> bit_;                 // by dimension: of the service level
};

}  // namespace railweave::fabric
