#include "services/control/guarantees/remarked_jobs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fabric/qos/ethernet_plan.h"
#include "services/control/state/service_levels.h"
#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

// Of the class, and of the job's own lane; 0: none.
std::pair<unsigned, unsigned> dscps(const fabric::QosClasses& classes, const JobGuarantee& guarantee) {
  const auto at = std::ranges::find(classes, guarantee.qos_class, &fabric::QosClass::name);
  const bool has_lane = guarantee.lane && *guarantee.lane < fabric::ethernet_lanes(classes);
  return {at == classes.end() ? 0U : at->dscp, has_lane ? fabric::lane_dscp(classes, *guarantee.lane) : 0U};
}

bool is_on_ethernet(const ClusterState& state, const Job& job) {
  const auto& t = state.topology();
  return std::ranges::any_of(job_ports(*state.placement_fabric, job.placement.gpu_of_rank), [&](fabric::PortId port) {
    return t.peer(port) && t.kind(t.link(port)) == fabric::LinkKind::ethernet;
  });
}

}  // namespace

std::vector<JobId> remarked_jobs(const ClusterState& state, const fabric::QosClasses& classes) {
  const fabric::QosClasses& before = *state.qos_classes;
  std::vector<JobId> remarked;
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    const bool has_other_level =
        service_level_bit(before, job->guarantee) != service_level_bit(classes, job->guarantee);
    const bool has_other_dscp = dscps(before, *job->guarantee) != dscps(classes, *job->guarantee);
    if (has_other_level || (has_other_dscp && is_on_ethernet(state, *job))) remarked.push_back(id);
  }
  return remarked;
}

}  // namespace railweave::control
