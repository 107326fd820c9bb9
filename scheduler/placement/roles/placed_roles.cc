#include "scheduler/placement/roles/placed_roles.h"

#include <algorithm>
#include <utility>

namespace railweave::scheduler {

PlacedRoles::PlacedRoles(Placer& placer, std::vector<RolePlace>& roles)
    : placer_(placer), roles_(roles), before_(placer.peers()) {
  for (const RolePlace& role : roles) preferences_.emplace_back(placer.fabric(), role.spec);
  placer_.set_peers([this](std::uint64_t job) -> std::span<const fabric::GpuId> {
    const auto role = std::ranges::find(roles_, job, &RolePlace::job);
    if (role != roles_.end()) return role->placement.gpu_of_rank;
    return before_ ? before_(job) : std::span<const fabric::GpuId>();
  });
}

PlacedRoles::~PlacedRoles() { placer_.set_peers(std::move(before_)); }

double PlacedRoles::total_us() const {
  double us = 0;
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    const auto& [job, spec, placement] = roles_[i];
    us += placer_.shared_us(spec, placement.gpu_of_rank);
    const double unmet = preferences_[i].unmet(placement.gpu_of_rank);
    // As in the choice of its place alone: of all that it sends, wherever that is counted.
    if (unmet > 0) us += placer_.shared_us(spec, placement.gpu_of_rank, PeersOf::all) * unmet;
  }
  return us;
}

}  // namespace railweave::scheduler
