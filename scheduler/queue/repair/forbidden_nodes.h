// The nodes that a running job may not move to: not among `nodes`, in `excludeNodes`, without a label of `nodeSelector`, or
// with another model of GPUs than it runs on, where it runs on one and may not mix them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

class ForbiddenNodes {
 public:
  // O(nodes) where the job names nodes or labels or the fabric has several models, else nothing.
  ForbiddenNodes(const PlacementFabric& fabric, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

  [[nodiscard]] bool contains(fabric::HostId host) const { return !marked_.empty() && marked_[host.index()] != 0; }
  [[nodiscard]] const std::vector<fabric::HostId>& hosts() const { return hosts_; }  // with GPUs

 private:
  std::vector<std::uint8_t> marked_;  // by host; empty: none
  std::vector<fabric::HostId> hosts_;
};

}  // namespace railweave::scheduler
