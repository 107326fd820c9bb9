// A placer brought up to date with whatever state it is asked about: rebuilt when the topology changed, else
// synchronised with the few allocations that differ. One per thread.
#pragma once

#include <memory>

#include "scheduler/placement/placer.h"
#include "services/control/cluster_state.h"

namespace railweave::control {

class PlacerCache {
 public:
  scheduler::Placer& at(const ClusterState& state);

 private:
  std::unique_ptr<scheduler::Placer> placer_;
};

}  // namespace railweave::control
