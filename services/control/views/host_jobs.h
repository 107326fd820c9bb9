// The jobs that run on each host of one state, found in one pass over the jobs that hold GPUs. Immutable.
#pragma once

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

#include "services/control/state/job_table.h"

namespace railweave::control {

struct ClusterState;

class HostJobs {
 public:
  explicit HostJobs(const ClusterState& state);

  // Ascending by id; a view into this object.
  [[nodiscard]] auto on(fabric::HostId host) const& {
    return std::ranges::equal_range(by_host_, host, {}, &Entry::first) | std::views::values;
  }
  auto on(fabric::HostId host) const&& = delete;

 private:
  using Entry = std::pair<fabric::HostId, JobPtr>;
  std::vector<Entry> by_host_;
};

}  // namespace railweave::control
