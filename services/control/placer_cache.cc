#include "services/control/placer_cache.h"

namespace railweave::control {

scheduler::Placer& PlacerCache::at(const ClusterState& state) {
  if (placer_ == nullptr || fabric_ != state.placement_fabric) {
    fabric_ = state.placement_fabric;
    placer_ = std::make_unique<scheduler::Placer>(fabric_);
    const auto nominal = fabric_->nominal_mbps();
    capacities_mbps_.assign(nominal.begin(), nominal.end());
    view_version_ = 0;
  }
  if (view_version_ != state.view_version) {
    view_version_ = state.view_version;
    // What reservations take will be subtracted here.
    if (auto now = fabric_->capacities_mbps(state.view); now != capacities_mbps_) {
      capacities_mbps_ = now;
      placer_->set_capacities(std::move(now));
    }
  }
  placer_->sync(state.allocations);
  return *placer_;
}

}  // namespace railweave::control
