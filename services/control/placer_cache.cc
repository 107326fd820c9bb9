#include "services/control/placer_cache.h"

namespace railweave::control {

scheduler::Placer& PlacerCache::at(const ClusterState& state) {
  if (placer_ == nullptr || &placer_->fabric() != state.placement_fabric.get()) {
    placer_ = std::make_unique<scheduler::Placer>(state.placement_fabric);
  }
  placer_->sync(state.allocations);
  return *placer_;
}

}  // namespace railweave::control
