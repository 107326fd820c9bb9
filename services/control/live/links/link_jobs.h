// The jobs that run at the ends of a link, for alarms; derived once per state. Used by the stepping thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/control/views/host_jobs.h"

namespace railweave::control {

class LinkJobs {
 public:
  [[nodiscard]] const HostJobs& of(const ClusterState& state);
  // Ids of the jobs on the hosts at its ends, at most Alarm::kMaxJobs. None where the topology is not the state's.
  [[nodiscard]] std::vector<std::string> at(const ClusterState& state, const fabric::Topology& topology,
                                            fabric::LinkId link);

 private:
  std::optional<HostJobs> jobs_;  // of the state seq_
  std::uint64_t seq_ = 0;
};

}  // namespace railweave::control
