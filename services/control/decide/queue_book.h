// The facts of one state after the other, brought up to date by the jobs that differ: of 10,000 jobs that wait a
// completion changes one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "scheduler/queue/cycle/job_digests.h"
#include "services/control/decide/queue_facts.h"

namespace railweave::control {

class QueueBook {
 public:
  // told: QueuedJob::told of a job.
  explicit QueueBook(std::function<std::int8_t(const Job&)> told) : told_(std::move(told)) {}

  // As QueueFacts(state, now_us), with digests; valid until the next call. O(jobs that differ from those of the last call,
  // and a line of memory for each that waits).
  [[nodiscard]] QueueFacts facts(const ClusterState& state, std::int64_t now_us);

 private:
  void bring_up_to(const ClusterState& state);
  void put(const ClusterState& state, const JobPtr& job);

  const std::function<std::int8_t(const Job&)> told_;
  JobTable jobs_;                                   // as of the last call
  std::shared_ptr<const ContractTable> contracts_;  // as well
  std::map<JobId, scheduler::QueuedJob> queued_;
  std::map<JobId, JobPtr> running_;
  scheduler::JobDigests digests_;
};

}  // namespace railweave::control
