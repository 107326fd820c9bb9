// Which jobs run on which hosts, found in one pass over those that hold GPUs. A value; of one state.
#pragma once

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

class HostJobs {
 public:
  explicit HostJobs(const ClusterState& state);

  // By id; a view of this.
  [[nodiscard]] auto on(fabric::HostId host) const& {
    return std::ranges::equal_range(by_host_, host, {}, &Entry::first) | std::views::values;
  }
  auto on(fabric::HostId host) const&& = delete;

 private:
  using Entry = std::pair<fabric::HostId, JobPtr>;
  std::vector<Entry> by_host_;
};

}  // namespace railweave::control
