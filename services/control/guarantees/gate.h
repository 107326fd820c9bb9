// Bandwidth admission inside a queue cycle: the cycle asks before it starts a job whether the job's guarantee fits
// beside the existing guarantees and those granted earlier in the cycle. Where it does not at the place that the job would
// get, others are searched (other_places.h), for as much work as a cycle has; what was refused stays so for jobs alike
// until GPUs or links are released. Lives for one cycle, or for one forecast; on one thread.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/queue/cycle/start_gate.h"
#include "services/control/guarantees/other_places.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/job_reach.h"

namespace railweave::control {

// Refusals after a search, which hold until something is released. Kept from cycle to cycle where nothing was, so that
// each cycle searches for jobs for which the one before had no work left.
class SearchedJobs {
 public:
  // Forgets what was known of another state.
  void at(const ClusterState& state);
  void clear() { known_.clear(); }
  // Empty: not searched for.
  [[nodiscard]] Message find(const scheduler::JobSpec& spec) const;
  void add(const scheduler::JobSpec& spec, Message why);

 private:
  static constexpr std::size_t kMost = 256;
  struct Known {
    scheduler::JobSpec spec;
    Message why;
  };
  std::vector<Known> known_;
  std::uint64_t queue_version_ = 0, view_version_ = 0;
};

class GuaranteeGate : public scheduler::StartGate {
 public:
  // The searches of one cycle, together.
  static constexpr std::uint64_t kWorkOfCycle = 3 * kWorkForPlaces;

  // Borrows all.
  GuaranteeGate(const ClusterState& state, GuaranteeBook& book, const JobReach& reach, SearchedJobs& searched)
      : state_(state), book_(book), reach_(reach), searched_(searched) {
    searched_.at(state);
  }

  // Empty: the job may start; else why not.
  Message start(const scheduler::QueuedJob& job, scheduler::Placement& placement,
                std::span<const scheduler::QueueJobId> evicted, scheduler::Placer& placer) override;

  // What a job that start() accepted was given; null: best effort.
  [[nodiscard]] const Grant* granted(scheduler::QueueJobId job) const;
  // Some job was not searched a place for, as there was no work left: another cycle may start it.
  [[nodiscard]] bool left_some() const { return left_some_; }
  // For a forecast, one gate of many cycles: what tenants hold is left to the policy, and guarantees end with their jobs.
  void look_ahead() { ahead_ = true; }
  void end(scheduler::QueueJobId job);

 private:
  // Brings the ledger to what the cycle has decided so far.
  Result<void> open_ledger();
  // The job's guarantee at this place or, where it does not fit there, at another one, beside what the ledger has.
  std::expected<Grant, Message> grant_somewhere(const scheduler::QueuedJob& job, const scheduler::Contract& terms,
                                                const fabric::Ledger& ledger, scheduler::Placement& placement,
                                                scheduler::Placer& placer);

  const ClusterState& state_;
  GuaranteeBook& book_;
  const JobReach& reach_;
  std::optional<fabric::Ledger>
      ledger_;  // set by the first job with a guarantee: as it will be after the jobs started so far
  std::set<scheduler::QueueJobId> evicted_;  // by the cycle so far
  std::map<scheduler::QueueJobId, Grant> granted_;
  SearchedJobs& searched_;
  scheduler::SearchWork work_{kWorkOfCycle};
  bool left_some_ = false;
  bool ahead_ = false;
  std::set<std::string> domains_counted_;  // tenants with a limit of NVLink domains that started a job
};

}  // namespace railweave::control
