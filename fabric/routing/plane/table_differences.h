// Where two tables of one plane differ. Tiles that both share are skipped, so that the cost of comparing tables before
// and after a reroute follows from what was written, not from their size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

struct TableDifference {
  std::uint32_t sw = 0;  // switch and destination in the numbers of the plane
  std::uint32_t destination = 0;
  std::uint16_t before = kNoPort;
  std::uint16_t after = kNoPort;
};

// Is there a difference for which matches(difference) holds? Asks by switch, then destination, until one does. The two
// tables have one shape.
template <class Matches>
bool any_difference(const PlaneTables& before, const PlaneTables& after, Matches matches) {
  std::vector<std::uint16_t> then, now;
  for (std::uint32_t s = 0; s < after.switches(); ++s) {
    for (std::size_t tile = 0; tile < after.tiles_per_row(); ++tile) {
      if (after.shares_tile(before, s, tile)) continue;
      const std::size_t first = tile * after.tile_entries();
      then.resize(std::min(after.tile_entries(), after.destinations() - first));
      now.resize(then.size());
      before.read(s, first, then.size(), then.data());
      after.read(s, first, now.size(), now.data());
      for (std::size_t i = 0; i < now.size(); ++i) {
        if (then[i] == now[i]) continue;
        if (matches(TableDifference{s, static_cast<std::uint32_t>(first + i), then[i], now[i]})) return true;
      }
    }
  }
  return false;
}

template <class Visit>
void for_each_difference(const PlaneTables& before, const PlaneTables& after, Visit visit) {
  any_difference(before, after, [&](const TableDifference& difference) {
    visit(difference);
    return false;
  });
}

}  // namespace railweave::fabric
