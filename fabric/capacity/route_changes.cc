#include "fabric/capacity/route_changes.h"

#include <algorithm>
#include <cstring>

namespace railweave::fabric {

std::span<const EntryChange> RouteChanges::of(std::uint32_t destination) const {
  const auto first = std::ranges::lower_bound(entries, destination, {}, &EntryChange::destination);
  auto last = first;
  while (last != entries.end() && last->destination == destination) ++last;
  return {first, last};
}

RouteChanges route_changes(const ForwardingTables& before, const ForwardingTables& after, PlaneId id) {
  constexpr std::size_t kBlock = 64;  // entries compared at once: most of a written tile is unchanged
  RouteChanges changes{id, {}};
  if (after.shares_plane(before, id)) return changes;
  const PlaneTables &was = before.plane(id), &is = after.plane(id);
  std::vector<std::uint16_t> old(is.tile_entries()), now(is.tile_entries());
  for (std::uint32_t s = 0; s < is.switches(); ++s) {
    for (std::size_t tile = 0; tile < is.tiles_per_row(); ++tile) {
      if (is.shares_tile(was, s, tile)) continue;
      const std::size_t first = tile * is.tile_entries();
      const std::size_t count = std::min(is.destinations() - first, is.tile_entries());
      was.read(s, first, count, old.data());
      is.read(s, first, count, now.data());
      for (std::size_t block = 0; block < count; block += kBlock) {
        const std::size_t block_end = std::min(count, block + kBlock);
        if (std::memcmp(&old[block], &now[block], (block_end - block) * sizeof(now[0])) == 0) continue;
        for (std::size_t i = block; i < block_end; ++i) {
          if (old[i] != now[i]) changes.entries.push_back({static_cast<std::uint32_t>(first + i), s, now[i]});
        }
      }
    }
  }
  std::ranges::sort(changes.entries);
  return changes;
}

}  // namespace railweave::fabric
