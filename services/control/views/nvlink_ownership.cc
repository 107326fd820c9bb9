#include "services/control/views/nvlink_ownership.h"

#include <algorithm>

#include "fabric/base/check.h"

namespace railweave::control {
namespace {

// Without the contract's limits: those were checked when the job was placed.
std::vector<scheduler::NvlinkPartition> assign(scheduler::NvlinkPartitions& partitions, const ClusterState& state,
                                               const Job& job) {
  auto assigned = partitions.assign(state.topology(), scheduler::Contract{.tenant = job.spec.tenant}, to_string(job.id),
                                    job.placement.gpu_of_rank);
  RAILWEAVE_CHECK(assigned.has_value(), "a GPU belongs to at most one job");
  return std::move(*assigned);
}

}  // namespace

scheduler::NvlinkPartitions nvlink_ownership(const ClusterState& state, const std::string& tenant) {
  scheduler::NvlinkPartitions partitions;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->holds_gpus() && (tenant.empty() || job->spec.tenant == tenant)) (void)assign(partitions, state, *job);
    return true;
  });
  return partitions;
}

std::vector<scheduler::NvlinkPartition> nvlink_partitions_of(const ClusterState& state, const Job& job) {
  if (!job.holds_gpus()) return {};
  scheduler::NvlinkPartitions none;
  auto own = assign(none, state, job);
  for (auto& partition : own) {
    const auto members = state.topology().gpus(partition.domain);
    const auto first = std::ranges::find(members, partition.gpus.front());
    partition.number = static_cast<std::uint32_t>(first - members.begin()) + 1;
  }
  return own;
}

}  // namespace railweave::control
