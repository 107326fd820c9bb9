// The routes of a plane's tables on the order that proves them, and what else packets could do on it: the other next hops of a
// switch, in the same direction, on a route as long that goes up and then down. Taking any of them changes no other route's length,
// and leaves tables as free of loops and of credit loops as they are. Pure.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

class OrderedRoutes {
 public:
  // Borrows all of them.
  OrderedRoutes(const FabricView& view, const Plane& plane, const PlaneTables& tables, const SwitchOrder& order)
      : view_(view), plane_(plane), tables_(tables), order_(order) {}

  static constexpr unsigned kNone = UINT_MAX;
  // The arc that packets leave switch s by; Plane::kNone: none, or they are at their home.
  [[nodiscard]] std::uint32_t arc(std::size_t s, std::size_t d) const;
  // In links; kNone: packets do not arrive.
  [[nodiscard]] unsigned length(std::size_t s, std::size_t d) const;
  // Whether packets may leave s by that arc as well.
  [[nodiscard]] bool may_use(std::size_t s, std::size_t d, std::uint32_t arc) const;

 private:
  [[nodiscard]] bool up(std::uint32_t arc) const;

  const FabricView& view_;
  const Plane& plane_;
  const PlaneTables& tables_;
  const SwitchOrder& order_;
};

}  // namespace railweave::fabric
