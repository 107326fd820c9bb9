// The nodes that a job's request rules out: not among `nodes`, in `excludeNodes`, or without a label of `nodeSelector`.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

class ForbiddenNodes {
 public:
  // O(nodes) where the job names nodes or labels, else nothing.
  ForbiddenNodes(const PlacementFabric& fabric, const JobSpec& spec);

  [[nodiscard]] bool contains(fabric::HostId host) const { return !marked_.empty() && marked_[host.index()] != 0; }
  [[nodiscard]] const std::vector<fabric::HostId>& hosts() const { return hosts_; }  // with GPUs

 private:
  std::vector<std::uint8_t> marked_;  // by host; empty: none
  std::vector<fabric::HostId> hosts_;
};

}  // namespace railweave::scheduler
