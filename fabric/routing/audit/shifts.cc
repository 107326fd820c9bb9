#include "fabric/routing/audit/shifts.h"

#include <algorithm>

#include "fabric/base/mix.h"

namespace railweave::fabric {

namespace {

std::vector<std::uint32_t> host_ports(const Plane& plane) {
  std::vector<std::uint32_t> hosts;
  for (const Segment& segment : plane.segments) {
    if (segment.kind != DestinationKind::host || segment.lid_offset != 0) continue;
    for (std::uint32_t i = 0; i < segment.count; ++i) hosts.push_back(segment.first + i);
  }
  return hosts;
}

}  // namespace

std::vector<std::uint32_t> sample_shifts(const Plane& plane, unsigned count) {
  const std::size_t hosts = host_ports(plane).size();
  std::vector<std::uint32_t> shifts;
  if (hosts < 2) return shifts;
  for (std::uint32_t i = 0; i < count; ++i) shifts.push_back(static_cast<std::uint32_t>(1 + mix(i) % (hosts - 1)));
  return shifts;
}

std::vector<std::uint64_t> shift_loads(const Plane& plane, const PortMap& ports, const PlaneTables& tables,
                                       const std::vector<std::uint32_t>& shifts) {
  const auto hosts = host_ports(plane);
  std::vector<std::uint64_t> fullest;
  std::vector<std::uint64_t> load(plane.arcs.size());
  for (const std::uint32_t shift : shifts) {
    std::ranges::fill(load, 0);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const std::uint32_t to = hosts[(i + shift) % hosts.size()];
      const std::uint32_t end = plane.homes[plane.destination_home[to]].sw;
      std::uint32_t at = plane.homes[plane.destination_home[hosts[i]]].sw;
      for (std::size_t steps = 0; at != end && steps < plane.switch_count(); ++steps) {
        const std::uint16_t port = tables.at(at, to);
        const std::uint32_t arc = port < ports.stride ? ports.arc(at, port) : PortMap::kNothing;
        if (arc >= PortMap::kDead) break;
        ++load[arc];
        at = plane.arcs[arc].to;
      }
    }
    fullest.push_back(load.empty() ? 0 : std::ranges::max(load));
  }
  return fullest;
}

}  // namespace railweave::fabric
