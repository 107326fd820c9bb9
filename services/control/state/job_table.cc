#include "services/control/state/job_table.h"

#include <algorithm>
#include <utility>

#include "services/control/state/job.h"

namespace railweave::control {

void JobTable::put(JobPtr job) {
  const JobPtr before = jobs_.find(job->id);
  if (before != nullptr && before->state == JobState::queued) --queued_;
  if (job->state == JobState::queued) ++queued_;
  next_number_ = std::max(next_number_, job->id.number() + 1);
  jobs_.put(std::move(job));
}

void JobTable::erase(JobId id) {
  const JobPtr job = jobs_.find(id);
  if (job != nullptr && job->state == JobState::queued) --queued_;
  jobs_.erase(id);
}

}  // namespace railweave::control
