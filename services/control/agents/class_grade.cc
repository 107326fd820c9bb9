#include "services/control/agents/class_grade.h"

#include <algorithm>
#include <set>

#include "services/control/views/job_ports.h"

namespace railweave::control {

void ClassGrades::index_links() {
  if (is_indexed_) return;
  is_indexed_ = true;
  for (const auto& reservation : book_.ledger().reservations()) {
    if (reservation->lane) continue;
    for (const auto& load : reservation->loads) {
      jobs_on_[{load.link, reservation->qos_class}].push_back(job_of(*reservation));
    }
  }
}

const std::vector<fabric::HostId>& ClassGrades::unreported(fabric::SubnetId subnet) {
  const auto [at, is_new] = unreported_.try_emplace(subnet);
  if (!is_new) return at->second;
  const auto& t = state_.topology();
  for (const fabric::HostId host : t.hosts()) {
    bool is_in_it = false;
    for (const auto hca : t.hcas(host)) {
      for (const auto port : t.ports(hca)) is_in_it = is_in_it || (t.peer(port) && t.subnet(port) == subnet);
    }
    if (is_in_it && !agents_.enforces(state_, host, at_ms_)) at->second.push_back(host);
  }
  return at->second;
}

ClassGrade ClassGrades::of(const Job& job, bool is_filtered) {
  index_links();
  ClassGrade grade;
  std::set<JobId> neighbours;
  for (const auto& reservation : book_.ledger().reservations_of(to_string(job.id))) {
    for (const auto& load : reservation->loads) {
      const auto at = jobs_on_.find({load.link, reservation->qos_class});
      if (at != jobs_on_.end()) neighbours.insert(at->second.begin(), at->second.end());
    }
  }
  // A guarantee at risk reserves nothing, but its ranks send on.
  for (const JobId id : *state_.guaranteed) {
    const JobGuarantee& other = *state_.jobs.find(id)->guarantee;
    if (other.at_risk() && other.qos_class == job.guarantee->qos_class) neighbours.insert(id);
  }
  neighbours.erase(job.id);
  grade.neighbours = neighbours.size();
  std::set<fabric::HostId> seen;
  const auto look_at = [&](JobId id) {
    for (const fabric::HostId host : agents_.versions.hosts_of(id)) {
      if (!seen.insert(host).second || agents_.enforces(state_, host, at_ms_)) continue;
      if (grade.lacking++ == 0 && id != job.id) grade.neighbour = to_string(id);
      if (grade.lacks.size() < ClassGrade::kMaxLacks) grade.lacks.emplace_back(state_.topology().name(host));
    }
  };
  look_at(job.id);
  grade.hosts = seen.size();
  for (const JobId id : neighbours) look_at(id);
  if (!is_filtered) {
    std::set<fabric::SubnetId> subnets;
    for (const auto port : job_ports(*state_.placement_fabric, job.placement.gpu_of_rank)) {
      if (const auto subnet = state_.topology().subnet(port)) subnets.insert(subnet);
    }
    for (const auto subnet : subnets) {
      for (const fabric::HostId host : unreported(subnet)) {
        if (!seen.insert(host).second) continue;
        ++grade.lacking;
        ++grade.strangers;
        if (grade.lacks.size() < ClassGrade::kMaxLacks) grade.lacks.emplace_back(state_.topology().name(host));
      }
    }
  }
  grade.in_force = grade.hosts > 0 && grade.lacking == 0;
  return grade;
}

}  // namespace railweave::control
