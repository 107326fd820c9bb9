// From distances to ports: chooses for each destination one of the next hops to its home. Pure; one thread per object.
//
// A destination uses the planned port where that is a next hop at present. Otherwise the port is chosen among the next
// hops by a hash of switch, destination and port (rendezvous hashing, Thaler and Ravishankar 1998), so that a port that
// appears or disappears moves only its own destinations. The switch is part of the key because otherwise all switches
// would move a destination to the same fallback and overload it. Every entry is thus a function of the present fabric.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/routing_scope.h"
#include "fabric/routing/up_down/reach.h"
#include "fabric/routing/up_down/slot_plan.h"

namespace railweave::fabric {

// What does not depend on the state of links.
struct NominalPlan {
  SlotPlan slots;
  // Ports chosen by balance_ports(), where the fabric is too irregular for slots; shape 0 x 0: none.
  PlaneTables table;
  std::vector<std::uint64_t> switch_key;       // of GUIDs
  std::vector<std::uint64_t> destination_key;  // of the home's GUID, the port and the LID offset
};
void set_keys(NominalPlan& plan, const RoutingScope& scope, const Plane& plane);

class TableFill {
 public:
  TableFill(const Plane& plane, const LivePlane& live, const std::vector<ArcDirection>& directions, const Reach& reach,
            const NominalPlan& plan)
      : plane_(plane), live_(live), directions_(directions), reach_(reach), plan_(plan) {}

  // Rows are computed on `threads` threads; no entry depends on their number.
  [[nodiscard]] PlaneTables all(std::size_t threads = 1) const;
  // The entries of switch s for the destinations of a home, in their order.
  void block(std::uint32_t s, std::uint32_t home, std::vector<std::uint16_t>& ports);
  // The same, computed from earlier entries, where the only difference is that switch s, all of whose next hops to the
  // home go up, has lost the port `gone`: destinations on other ports keep theirs.
  void without(std::uint32_t s, std::uint32_t home, std::uint16_t gone, std::vector<std::uint16_t>& ports);

 private:
  template <class Entry>
  class Row;
  void gather_candidates(std::uint32_t s, std::uint32_t home);
  [[nodiscard]] std::uint16_t pick(std::uint32_t s, std::uint32_t destination) const;
  [[nodiscard]] bool takes(std::uint32_t arc, std::uint64_t key) const;

  const Plane& plane_;
  const LivePlane& live_;
  const std::vector<ArcDirection>& directions_;
  const Reach& reach_;
  const NominalPlan& plan_;
  std::vector<std::uint32_t> candidates_;   // arcs
  std::vector<std::uint8_t> is_candidate_;  // by arc of the switch, in its order
};

}  // namespace railweave::fabric
