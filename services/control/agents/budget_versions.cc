#include "services/control/agents/budget_versions.h"

#include <algorithm>
#include <utility>

namespace railweave::control {
namespace {

// Whether the budgets of two versions of a job, and the marks of its packets, agree.
bool same_budgets(const Job& a, const Job& b) {
  const JobGuarantee &x = *a.guarantee, &y = *b.guarantee;
  return x.qos_class == y.qos_class && x.promise == y.promise && x.rate == y.rate && x.most == y.most &&
         x.isolation == y.isolation && x.lane == y.lane && x.at_risk() == y.at_risk() &&
         a.placement.gpu_of_rank == b.placement.gpu_of_rank;
}

}  // namespace

void BudgetVersions::bring_to(const ClusterState& state) {
  if (topology_ != nullptr && state.seq <= seq_) return;
  seq_ = state.seq;
  if (topology_ != state.accepted.topology || classes_ != state.qos_classes || modes_ != state.subnet_policies) {
    topology_ = state.accepted.topology;
    classes_ = state.qos_classes;
    modes_ = state.subnet_policies;
    since_ = state.seq;
    known_.clear();
    jobs_.clear();
    versions_.clear();
  }
  std::vector<JobId> gone;
  for (const auto& [id, known] : known_) {
    if (!state.guaranteed->contains(id)) gone.push_back(id);
  }
  for (const JobId id : gone) remove(id, state.seq);
  for (const JobId id : *state.guaranteed) {
    JobPtr now = state.jobs.find(id);
    const auto at = known_.find(id);
    if (at != known_.end() && (at->second.job == now || same_budgets(*at->second.job, *now))) {
      at->second.job = std::move(now);
      continue;
    }
    if (at != known_.end()) remove(id, state.seq);
    put(id, std::move(now), state.seq);
  }
}

void BudgetVersions::put(JobId id, JobPtr job, std::uint64_t seq) {
  Known known{std::move(job), {}};
  for (const auto gpu : known.job->placement.gpu_of_rank) known.hosts.push_back(topology_->host(gpu));
  std::ranges::sort(known.hosts);
  known.hosts.erase(std::unique(known.hosts.begin(), known.hosts.end()), known.hosts.end());
  for (const auto host : known.hosts) {
    jobs_[host].insert(id);
    versions_[host] = seq;
  }
  known_.insert_or_assign(id, std::move(known));
}

void BudgetVersions::remove(JobId id, std::uint64_t seq) {
  const auto at = known_.find(id);
  for (const auto host : at->second.hosts) {
    jobs_[host].erase(id);
    versions_[host] = seq;
  }
  known_.erase(at);
}

std::uint64_t BudgetVersions::version_of(fabric::HostId host) const {
  const auto at = versions_.find(host);
  return at == versions_.end() ? since_ : at->second;
}

std::vector<JobId> BudgetVersions::jobs_on(fabric::HostId host) const {
  const auto at = jobs_.find(host);
  return at == jobs_.end() ? std::vector<JobId>() : std::vector<JobId>(at->second.begin(), at->second.end());
}

std::span<const fabric::HostId> BudgetVersions::hosts_of(JobId job) const {
  const auto at = known_.find(job);
  return at == known_.end() ? std::span<const fabric::HostId>() : std::span<const fabric::HostId>(at->second.hosts);
}

}  // namespace railweave::control
