// What a failure does to forwarding tables, as the few entries that differ: what its consequences are computed from
// without walking routes that stay as they are.
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

// Numbers are local to the plane.
struct EntryChange {
  std::uint32_t destination = 0, sw = 0;
  std::uint16_t port = 0;  // afterwards
  friend auto operator<=>(const EntryChange&, const EntryChange&) = default;
};

struct RouteChanges {
  PlaneId plane;
  std::vector<EntryChange> entries;  // by destination, then switch
  // Those of one destination.
  [[nodiscard]] std::span<const EntryChange> of(std::uint32_t destination) const;
};
using RouteChangesPtr = std::shared_ptr<const RouteChanges>;

// Of one plane; the others are not looked at. O(tiles + entries of tiles that are not shared).
RouteChanges route_changes(const ForwardingTables& before, const ForwardingTables& after, PlaneId plane);

// Against the tables as they are, with the link between two switches down as well.
using ChangesWithout = std::function<Result<RouteChangesPtr>(LinkId)>;

}  // namespace railweave::fabric
