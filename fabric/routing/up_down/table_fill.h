// From distances to ports: which of the ports that lead to a home each of its destinations gets.
//
// A destination takes the port the plan names where that one leads there now. Otherwise the port is drawn from those
// that do by a hash of switch, destination and port (rendezvous hashing, Thaler and Ravishankar 1998): keyed by the
// switch as well, because all switches moving a destination to the same fallback would pile load on it; and so that a
// port coming or going moves only its own destinations. Every entry is thus a function of the fabric as it is.
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
  // Ports chosen by balance_plan(), where the fabric is too irregular for slots; shape 0 x 0: none.
  PlaneTables table;
  std::vector<std::uint64_t> switch_key;       // of GUIDs
  std::vector<std::uint64_t> destination_key;  // of the home's GUID, the port and the LID offset
};
void set_keys(NominalPlan& plan, const RoutingScope& scope, const Plane& plane);

class TableFill {
 public:
  TableFill(const Plane& plane, const LivePlane& live, const std::vector<ArcWay>& ways, const Reach& reach,
            const NominalPlan& plan)
      : plane_(plane), live_(live), ways_(ways), reach_(reach), plan_(plan) {}

  // Rows side by side on so many threads; no entry depends on it.
  [[nodiscard]] PlaneTables all(std::size_t threads = 1) const;
  // The entries of switch s for the destinations of a home, in their order.
  void block(std::uint32_t s, std::uint32_t home, std::vector<std::uint16_t>& ports);
  // The same where all that differs from what `ports` came from is that switch s, all of whose ways to the home go up,
  // has lost its port `gone`: whatever another port was drawn for keeps it.
  void without(std::uint32_t s, std::uint32_t home, std::uint16_t gone, std::vector<std::uint16_t>& ports);

 private:
  template <class Entry>
  class Row;
  void gather_candidates(std::uint32_t s, std::uint32_t home);
  [[nodiscard]] std::uint16_t pick(std::uint32_t s, std::uint32_t destination) const;
  [[nodiscard]] bool takes(std::uint32_t arc, std::uint64_t key) const;

  const Plane& plane_;
  const LivePlane& live_;
  const std::vector<ArcWay>& ways_;
  const Reach& reach_;
  const NominalPlan& plan_;
  std::vector<std::uint32_t> candidates_;   // arcs
  std::vector<std::uint8_t> is_candidate_;  // by arc of the switch, in its order
};

}  // namespace railweave::fabric
