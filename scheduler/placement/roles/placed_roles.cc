#include "scheduler/placement/roles/placed_roles.h"

#include <algorithm>
#include <utility>

namespace railweave::scheduler {

PlacedRoles::PlacedRoles(Placer& placer, std::vector<RolePlace>& roles)
    : placer_(placer), roles_(roles), before_(placer.peers()) {
  placer_.set_peers([this](std::uint64_t job) -> std::span<const fabric::GpuId> {
    const auto role = std::ranges::find(roles_, job, &RolePlace::job);
    if (role != roles_.end()) return role->placement.gpu_of_rank;
    return before_ ? before_(job) : std::span<const fabric::GpuId>();
  });
}

PlacedRoles::~PlacedRoles() { placer_.set_peers(std::move(before_)); }

double PlacedRoles::total_us() const {
  double us = 0;
  for (const RolePlace& role : roles_) us += placer_.shared_us(role.spec, role.placement.gpu_of_rank);
  return us;
}

}  // namespace railweave::scheduler
