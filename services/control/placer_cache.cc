#include "services/control/placer_cache.h"

namespace railweave::control {

scheduler::Placer& PlacerCache::at(const ClusterState& state) {
  if (placer_ == nullptr || fabric_ != state.placement_fabric) {
    fabric_ = state.placement_fabric;
    placer_ = std::make_unique<scheduler::Placer>(fabric_);
    const auto nominal = fabric_->nominal_mbps();
    capacities_mbps_.assign(nominal.begin(), nominal.end());
    view_version_ = 0;
    reserved_version_ = 0;
  }
  // Without a route for it nothing is promised, and nothing is taken.
  const bool reserved = !state.guaranteed->empty() && guarantees_.bring_to(state).has_value();
  const std::uint64_t reserved_version = reserved ? guarantees_.version() : 0;
  if (view_version_ != state.view_version || reserved_version_ != reserved_version) {
    view_version_ = state.view_version;
    reserved_version_ = reserved_version;
    auto now =
        reserved ? fabric_->bundles().capacities(guarantees_.residual_mbps()) : fabric_->capacities_mbps(state.view);
    if (now != capacities_mbps_) {
      capacities_mbps_ = now;
      placer_->set_capacities(std::move(now));
    }
  }
  placer_->sync(state.allocations);
  return *placer_;
}

}  // namespace railweave::control
