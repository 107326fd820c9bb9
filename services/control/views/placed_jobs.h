// Which jobs are placed, and what has changed of that since the state that was looked at before: for whoever keeps
// something for each of them. O(what changed) (job_table.h).
#pragma once

#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

class PlacedJobs {
 public:
  // Calls gone(JobId) for those that left their place, then came(const JobPtr&) for those in a new one.
  template <class Gone, class Came>
  void follow(const ClusterState& state, Gone gone, Came came) {
    const auto placed = [](const JobPtr& job) { return job != nullptr && job->holds_gpus(); };
    std::vector<JobPtr> fresh;
    state.jobs.visit_changed(seen_, [&](const JobPtr& was, const JobPtr& is) {
      const bool stays = placed(was) && placed(is) && was->placement.gpu_of_rank == is->placement.gpu_of_rank;
      if (stays) return;
      if (placed(was)) gone(was->id);
      if (placed(is)) fresh.push_back(is);
    });
    for (const JobPtr& job : fresh) came(job);
    seen_ = state.jobs;
  }
  // Nobody is there: all come anew.
  void forget() { seen_ = {}; }

 private:
  JobTable seen_;
};

}  // namespace railweave::control
