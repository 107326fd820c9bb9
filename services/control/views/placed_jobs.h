// Follows which jobs are placed from one state to the next, for caches that keep an entry per placed job. O(changes),
// see state/job_table.h. Not thread-safe.
#pragma once

#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

class PlacedJobs {
 public:
  // Calls removed(JobId) for each job that ended or moved, then added(const JobPtr&) for each job at a new place.
  template <class Removed, class Added>
  void follow(const ClusterState& state, Removed removed, Added added) {
    const auto placed = [](const JobPtr& job) { return job != nullptr && job->holds_gpus(); };
    std::vector<JobPtr> started;
    state.jobs.visit_changed(seen_, [&](const JobPtr& was, const JobPtr& is) {
      const bool stays = placed(was) && placed(is) && was->placement.gpu_of_rank == is->placement.gpu_of_rank;
      if (stays) return;
      if (placed(was)) removed(was->id);
      if (placed(is)) started.push_back(is);
    });
    for (const JobPtr& job : started) added(job);
    seen_ = state.jobs;
  }
  // The next follow() adds every placed job.
  void reset() { seen_ = {}; }

 private:
  JobTable seen_;
};

}  // namespace railweave::control
