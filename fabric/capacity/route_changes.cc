#include "fabric/capacity/route_changes.h"

#include <algorithm>

namespace railweave::fabric {

std::span<const EntryChange> RouteChanges::of(std::uint32_t destination) const {
  const auto first = std::ranges::lower_bound(entries, destination, {}, &EntryChange::destination);
  auto last = first;
  while (last != entries.end() && last->destination == destination) ++last;
  return {first, last};
}

RouteChanges route_changes(const ForwardingTables& before, const ForwardingTables& after, PlaneId id) {
  RouteChanges changes{id, {}};
  if (after.shares_plane(before, id)) return changes;
  const PlaneTables &was = before.plane(id), &is = after.plane(id);
  for (std::uint32_t s = 0; s < is.switches(); ++s) {
    for (std::size_t tile = 0; tile < is.tiles_per_row(); ++tile) {
      if (is.shares_tile(was, s, tile)) continue;
      const std::size_t end = std::min(is.destinations(), (tile + 1) * is.tile_entries());
      for (std::size_t d = tile * is.tile_entries(); d < end; ++d) {
        const std::uint16_t port = is.at(s, d);
        if (was.at(s, d) != port) changes.entries.push_back({static_cast<std::uint32_t>(d), s, port});
      }
    }
  }
  std::ranges::sort(changes.entries);
  return changes;
}

}  // namespace railweave::fabric
