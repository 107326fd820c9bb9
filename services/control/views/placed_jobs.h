// Follows which jobs are placed from one state to the next, for caches that keep an entry per placed job. O(changes),
// see state/job_table.h. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

class PlacedJobs {
 public:
  // Calls removed(JobId) for each job that ended or moved, then added(const JobPtr&) for each job at a new place. A job whose
  // peer started, ended or moved (RolePeer, where it is counted with the job) sends elsewhere: it is as one that moved.
  template <class Removed, class Added>
  void follow(const ClusterState& state, Removed removed, Added added) {
    const auto placed = [](const JobPtr& job) { return job != nullptr && job->holds_gpus(); };
    std::vector<JobPtr> started;
    std::set<std::uint64_t> changed;  // of those that have followers
    state.jobs.visit_changed(seen_, [&](const JobPtr& was, const JobPtr& is) {
      const bool stays = placed(was) && placed(is) && was->placement.gpu_of_rank == is->placement.gpu_of_rank;
      if (stays || (!placed(was) && !placed(is))) return;
      const std::uint64_t number = (was != nullptr ? was : is)->id.number();
      if (followers_.contains(number)) changed.insert(number);
      if (placed(was)) {
        forget(*was);
        removed(was->id);
      }
      if (placed(is)) started.push_back(is);
    });
    add_followers(state, changed, removed, started);
    for (const JobPtr& job : started) {
      for (const auto& peer : job->spec.peers) {
        if (peer.counted) followers_[peer.job].insert(job->id.number());
      }
      added(job);
    }
    seen_ = state.jobs;
  }
  // The next follow() adds every placed job.
  void reset() {
    seen_ = {};
    followers_.clear();
  }

 private:
  template <class Removed>
  void add_followers(const ClusterState& state, const std::set<std::uint64_t>& changed, Removed removed,
                     std::vector<JobPtr>& started) {
    std::set<std::uint64_t> again;
    for (const std::uint64_t number : changed) {
      const auto followers = followers_.find(number);
      if (followers != followers_.end()) again.insert(followers->second.begin(), followers->second.end());
    }
    for (const JobPtr& job : started) again.erase(job->id.number());
    for (const std::uint64_t number : again) {
      JobPtr job = state.jobs.find(JobId(number));
      removed(job->id);
      started.push_back(std::move(job));
    }
  }
  void forget(const Job& job) {
    for (const auto& peer : job.spec.peers) {
      const auto followers = followers_.find(peer.job);
      if (followers == followers_.end()) continue;
      followers->second.erase(job.id.number());
      if (followers->second.empty()) followers_.erase(followers);
    }
  }

  JobTable seen_;
  std::map<std::uint64_t, std::set<std::uint64_t>> followers_;  // placed jobs by a peer of theirs
};

}  // namespace railweave::control
