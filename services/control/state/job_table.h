// Jobs by id, part of ClusterState, and how many of them wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "services/control/state/job.h"
#include "services/control/state/job_blocks.h"

namespace railweave::control {

using JobPtr = std::shared_ptr<const Job>;

class JobTable {
 public:
  [[nodiscard]] JobPtr find(JobId id) const { return jobs_.find(id); }  // null: there is none
  void put(JobPtr job);
  void erase(JobId id);
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  [[nodiscard]] std::uint64_t queued() const { return queued_; }  // jobs in JobState::queued

  // The id for the next new job: above every id that was ever put.
  [[nodiscard]] JobId next_id() const { return JobId(next_number_); }
  void set_next_id(JobId id) { next_number_ = id.number(); }  // when a snapshot is read back

  // As those of JobBlocks.
  template <class Visit>
  void visit_after(JobId after, Visit visit) const {
    jobs_.visit_after(after, visit);
  }
  template <class Visit>
  void visit_changed(const JobTable& before, Visit visit) const {
    jobs_.visit_changed(before.jobs_, visit);
  }

 private:
  JobBlocks<Job> jobs_;
  std::uint64_t queued_ = 0, next_number_ = 1;
};

}  // namespace railweave::control
