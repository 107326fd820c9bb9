#include "services/control/views/host_jobs.h"

#include "services/control/state/cluster_state.h"

namespace railweave::control {

HostJobs::HostJobs(const ClusterState& state) {
  const fabric::Topology& topology = state.topology();
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->holds_gpus()) return true;
    const std::size_t first = by_host_.size();
    for (const auto gpu : job->placement.held_gpus()) {
      const fabric::HostId host = topology.host(gpu);
      if (by_host_.size() == first || by_host_.back().first != host) by_host_.emplace_back(host, job);
    }
    return true;
  });
  // A job's ranks may return to a host, hence unique. Jobs were added by id; the stable sort keeps that order.
  std::ranges::stable_sort(by_host_, {}, &Entry::first);
  const auto repeated = std::ranges::unique(by_host_);
  by_host_.erase(repeated.begin(), repeated.end());
}

}  // namespace railweave::control
