// The load that pairs of hosts put on the fullest link, of packets that are followed one by one through tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/up_down/reach.h"

namespace railweave::fabric::testing {

struct Followed {
  std::uint64_t fullest = 0;
  bool dropped = false;
};

// weight: by arc, of_destination: by destination, empty: 1 each.
inline Followed follow(const Plane& plane, const Reach& reach, const PlaneTables& tables,
                       const std::vector<std::uint32_t>& weight,
                       const std::vector<std::uint32_t>& of_destination = {}) {
  Followed found;
  std::vector<std::uint64_t> load(plane.arcs.size(), 0);
  for (const Home& from : plane.homes) {
    for (std::size_t h = 0; h < plane.homes.size(); ++h) {
      for (const Segment& segment : plane.segments_of(plane.homes[h])) {
        if (segment.kind != DestinationKind::host || from.host_ports == 0 || reach.total(from.sw)[h] == kUnreachable)
          continue;
        for (std::uint32_t d = segment.first; d < segment.first + segment.count; ++d) {
          for (std::uint32_t s = from.sw; s != plane.homes[h].sw;) {
            const auto arcs = plane.arcs_of(s);
            const auto at = std::ranges::find(arcs, tables.at(s, d), &Arc::port);
            if (at == arcs.end()) {
              found.dropped = true;
              break;
            }
            const std::size_t a = plane.first_arc[s] + static_cast<std::size_t>(at - arcs.begin());
            load[a] += std::uint64_t{from.host_ports} * weight[a] * (of_destination.empty() ? 1 : of_destination[d]);
            s = at->to;
          }
        }
      }
    }
  }
  if (!load.empty()) found.fullest = std::ranges::max(load);
  return found;
}

}  // namespace railweave::fabric::testing
