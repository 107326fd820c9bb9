#include "services/control/views/placed_jobs.h"

#include <utility>

#include "services/control/state/job.h"

namespace railweave::control {

PlacedJobs::Changes PlacedJobs::follow(const JobTable& jobs) {
  const auto placed = [](const JobPtr& job) { return job != nullptr && job->holds_gpus(); };
  Changes changes;
  std::set<std::uint64_t> changed;  // of those that have followers
  jobs.visit_changed(seen_, [&](const JobPtr& was, const JobPtr& is) {
    const bool stays = placed(was) && placed(is) && was->placement.gpu_of_rank == is->placement.gpu_of_rank;
    if (stays || (!placed(was) && !placed(is))) return;
    const std::uint64_t number = (was != nullptr ? was : is)->id.number();
    if (followers_.contains(number)) changed.insert(number);
    if (placed(was)) {
      forget(*was);
      changes.removed.push_back(was->id);
    }
    if (placed(is)) changes.added.push_back(is);
  });
  add_followers(jobs, changed, changes);
  for (const JobPtr& job : changes.added) {
    for (const auto& peer : job->spec.peers) {
      if (peer.counted) followers_[peer.job].insert(job->id.number());
    }
  }
  seen_ = jobs;
  return changes;
}

void PlacedJobs::reset() {
  seen_ = {};
  followers_.clear();
}

void PlacedJobs::add_followers(const JobTable& jobs, const std::set<std::uint64_t>& changed, Changes& changes) const {
  std::set<std::uint64_t> again;
  for (const std::uint64_t number : changed) {
    const auto followers = followers_.find(number);
    if (followers != followers_.end()) again.insert(followers->second.begin(), followers->second.end());
  }
  for (const JobPtr& job : changes.added) again.erase(job->id.number());
  for (const std::uint64_t number : again) {
    JobPtr job = jobs.find(JobId(number));
    changes.removed.push_back(job->id);
    changes.added.push_back(std::move(job));
  }
}

void PlacedJobs::forget(const Job& job) {
  for (const auto& peer : job.spec.peers) {
    const auto followers = followers_.find(peer.job);
    if (followers == followers_.end()) continue;
    followers->second.erase(job.id.number());
    if (followers->second.empty()) followers_.erase(followers);
  }
}

}  // namespace railweave::control
