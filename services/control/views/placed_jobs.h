// Follows which jobs are placed from one state to the next, for caches that keep an entry per placed job. O(changes),
// see state/job_blocks.h. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "services/control/state/job_table.h"

namespace railweave::control {

class PlacedJobs {
 public:
  struct Changes {
    std::vector<JobId> removed;  // jobs that ended or moved; to be removed first
    std::vector<JobPtr> added;   // jobs at a new place
    [[nodiscard]] bool empty() const { return removed.empty() && added.empty(); }
  };
  // Since the last call. A job whose peer started, ended or moved (RolePeer, where it is counted with the job) sends
  // elsewhere: it is as one that moved.
  Changes follow(const JobTable& jobs);

  void reset();  // the next follow() adds every placed job

 private:
  void add_followers(const JobTable& jobs, const std::set<std::uint64_t>& changed, Changes& changes) const;
  void forget(const Job& job);

  JobTable seen_;
  std::map<std::uint64_t, std::set<std::uint64_t>> followers_;  // placed jobs by a peer of theirs
};

}  // namespace railweave::control
