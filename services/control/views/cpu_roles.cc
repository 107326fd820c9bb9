#include "services/control/views/cpu_roles.h"

#include <algorithm>

#include "scheduler/placement/fit/cpu_seats.h"

namespace railweave::control {

void seat_cpu_roles(const ClusterState& state, const scheduler::JobSpec& spec, scheduler::Placement& placement) {
  const auto allocation = [&state](fabric::HostId host) -> const scheduler::HostAllocation& {
    return state.allocations[host.index()];
  };
  placement.cpu_seats = scheduler::cpu_seats(*state.placement_fabric, allocation, spec, placement);
}

bool has_lost_member(const ClusterState& state, const scheduler::Placement& placement) {
  return std::ranges::any_of(placement.cpu_seats, [&](const scheduler::CpuSeats& role) {
    return std::ranges::any_of(role.nodes, [&](const std::string& node) {
      const auto host = state.topology().find_host(node);
      return !host || state.allocations[host.index()].unavailable;
    });
  });
}

}  // namespace railweave::control
