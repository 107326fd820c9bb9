// Repairs on several lanes that keep the service level of every path. Who sends keeps the level that it was given with its
// first packet, so a repair that gives paths other levels can close a credit loop with senders that were not told. Here the
// levels, and what switches make of them, are those of the plane as cabled, whatever fails; only ports change. Routes that
// failures do not touch stay, and the turns of all paths are free of circles on every lane. Immutable; any number of
// threads may use one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fabric/routing/levels/turn_counts.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/port_arcs.h"

namespace railweave::fabric {

class LevelKeeper {
 public:
  // Of the plane as cabled, free of credit loops. O(homes x destinations x length of a route).
  LevelKeeper(const Plane& plane, const PlaneTables& tables, const PlaneLanes& lanes);

  // What is to be free of circles.
  enum class Moments : unsigned char {
    after,     // the repaired routes
    failing,   // also mixtures of routes as cabled with them, while switches change after the failure
    and_back,  // also those while switches change back, once all links are up again
  };
  // The tables for the present links; complete but for what is cut off. nullopt: some detour was found on no path's own
  // level. O(turns + destinations that are affected x arcs). is_dead: by arc, whether no packet passes; drained arcs are passed
  // until tables have changed. Switches change only after those downstream of them (forwarding_delta.h).
  [[nodiscard]] std::optional<PlaneTables> repaired(const LivePlane& live, std::span<const std::uint8_t> is_dead,
                                                    Moments moments) const;
  // Whether paths by other tables are free of circles on the levels that paths have. As costly as the constructor.
  [[nodiscard]] bool are_verified(const PlaneTables& tables) const;

 private:
  class Repair;

  const Plane& plane_;
  PlaneTables tables_;
  PlaneLanes lanes_;
  PortArcs port_arcs_;
  TurnCounts turns_;  // of all paths as cabled
};

}  // namespace railweave::fabric
