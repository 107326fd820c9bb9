// The nodes that a running job may not move to: not among `nodes`, in `excludeNodes`, without a label of `nodeSelector`, with a
// taint that it does not tolerate, or with another model of GPUs than it runs on, where it runs on one and may not mix them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

class ForbiddenNodes {
 public:
  // O(labels of nodes).
  ForbiddenNodes(const PlacementFabric& fabric, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

  // Its ranks leave it. They stay on nodes that have a taint, which only keeps others from coming.
  [[nodiscard]] bool contains(fabric::HostId host) const { return !marked_.empty() && marked_[host.index()] != 0; }
  [[nodiscard]] const std::vector<fabric::HostId>& hosts() const { return hosts_; }  // with GPUs, the tainted ones too

 private:
  std::vector<std::uint8_t> marked_;  // by host; empty: none
  std::vector<fabric::HostId> hosts_;
};

}  // namespace railweave::scheduler
