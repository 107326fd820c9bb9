// The forwarding table entries that a failure changes. Loads after the failure are computed from these few entries,
// without walking routes that do not change.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/plane/forwarding_tables.h"

namespace railweave::fabric {

// Switches and destinations are numbered within the plane.
struct EntryChange {
  std::uint32_t destination = 0, sw = 0;
  std::uint16_t port = 0;  // after the failure
  friend auto operator<=>(const EntryChange&, const EntryChange&) = default;
};

struct RouteChanges {
  PlaneId plane;
  std::vector<EntryChange> entries;  // by destination, then switch
  // The changes of one destination.
  [[nodiscard]] std::span<const EntryChange> of(std::uint32_t destination) const;
};
using RouteChangesPtr = std::shared_ptr<const RouteChanges>;

// The entries of one plane that differ. O(tiles + entries of tiles that the tables do not share).
RouteChanges route_changes(const ForwardingTables& before, const ForwardingTables& after, PlaneId plane);

// What the failure of one more link would do to the present tables.
struct FailureRoutes {
  // The entries that change when a link between two switches goes down.
  std::function<Result<RouteChangesPtr>(LinkId)> changes_without;
  // The links whose failure may change routes that do not cross them (RoutingEngine::far_reaching_links).
  std::function<std::vector<LinkId>(PlaneId)> far_reaching;
};

}  // namespace railweave::fabric
