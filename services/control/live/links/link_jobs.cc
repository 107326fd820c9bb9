#include "services/control/live/links/link_jobs.h"

#include "services/control/state/alarm.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

const HostJobs& LinkJobs::of(const ClusterState& state) {
  if (!jobs_ || seq_ != state.seq) {
    jobs_.emplace(state);
    seq_ = state.seq;
  }
  return *jobs_;
}

std::vector<std::string> LinkJobs::at(const ClusterState& state, const fabric::Topology& topology,
                                      fabric::LinkId link) {
  std::vector<std::string> ids;
  if (state.view.topology_ptr().get() != &topology) return ids;
  const HostJobs& jobs = of(state);
  for (const fabric::PortId port : {topology.a(link), topology.b(link)}) {
    const fabric::HcaId hca = topology.hca_of(port);
    const fabric::HostId host = hca ? topology.host(hca) : fabric::HostId();
    if (!host) continue;
    for (const JobPtr& job : jobs.on(host)) {
      if (ids.size() == Alarm::kMaxJobs) return ids;
      ids.push_back(to_string(job->id));
    }
  }
  return ids;
}

}  // namespace railweave::control
