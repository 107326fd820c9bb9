// Runs cycles of the queue on states and turns their results into events. Owns what a cycle needs between runs: its two
// placers and the pacing of cycles. Not thread-safe: owned by the control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/queue/queue_cycle.h"
#include "services/control/decide/queue_book.h"
#include "services/control/events/event.h"
#include "services/control/guarantees/gate.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// Why each job waits, as of the last cycle: newer than the jobs' histories, and not durable. Published by the control
// loop.
struct QueueView {
  std::uint64_t seq = 0;  // of the state of the cycle
  std::int64_t time_us = 0;
  std::int64_t wake_us = 0;                    // when the next cycle runs without any change; 0: none
  std::uint64_t cycles = 0;                    // since the start
  std::int64_t took_us = 0;                    // duration of the last cycle
  std::vector<scheduler::WaitingJob> waiting;  // in the order of the queue
};
using QueueViewPtr = std::shared_ptr<const QueueView>;

class QueueRunner {
 public:
  using Clock = std::function<std::int64_t()>;  // microseconds, monotonic

  // Cycles rest for `rest` times as long as they took by `clock`; without a clock they take no time. What others change
  // (a job ends, a node returns) need not wait for the last kBurst_us of the rests, so that after a pause several cycles
  // may follow each other. Borrows the cache.
  QueueRunner(PlacerCache& placers, unsigned rest, Clock clock = {}, std::uint64_t max_waiting_of_tenant = 10'000);

  // Each cycle looks at every job that waits: a tenant may have this many.
  [[nodiscard]] std::uint64_t max_waiting_of_tenant() const { return max_waiting_of_tenant_; }

  static constexpr std::int64_t kOverdue_us = 60'000'000;
  static constexpr std::int64_t kBurst_us = 200'000;
  static constexpr std::size_t kMaxNotes = 1'000;  // reasons for waiting that one cycle writes into histories

  // True: jobs wait, and an input of the queue has changed since the last cycle or its wake-up time has come.
  [[nodiscard]] bool due(const ClusterState& state, std::int64_t now_us) const;
  // How long until due() is true without a further change, if no clock is set meanwhile; none: never.
  [[nodiscard]] std::optional<std::int64_t> due_in_us(const ClusterState& state, std::int64_t now_us) const;
  // How long until overdue() is true if no cycle runs; none: nothing that waits could start.
  [[nodiscard]] std::optional<std::int64_t> overdue_in_us(const ClusterState& state) const;
  // GPUs are free, an input of the queue has changed, and no cycle has run for kOverdue_us.
  [[nodiscard]] bool overdue(const ClusterState& state) const;

  // Runs one cycle. Apply its events in this order, all of them or none.
  std::vector<EventBody> run(const ClusterState& state, std::int64_t now_us);

  // Whether this job, which is not in the queue, can start now without delaying any job that is: the events that start
  // it (and others that the cycle starts), or why not.
  struct Verdict {
    std::vector<EventBody> events;  // empty: it cannot
    scheduler::WaitReason reason;
    scheduler::Placement placement = {};  // where it starts
    Grant grant = {};
  };
  Verdict try_start(const ClusterState& state, const JobPtr& job, std::int64_t now_us);

  // The events of the last cycle could not be stored: a cycle is due again.
  void reset() { more_to_do_ = true; }

  [[nodiscard]] const QueueViewPtr& view() const { return view_; }

 private:
  // Whether a cycle could give another result than the last one did.
  [[nodiscard]] bool inputs_changed(const ClusterState& state) const;
  [[nodiscard]] bool others_changed(const ClusterState& state) const;
  // The cycle for the state, given its residual capacities.
  scheduler::QueueCycle& cycle(const ClusterState& state);

  PlacerCache& placers_;
  std::unique_ptr<scheduler::QueueCycle> cycle_;
  std::uint64_t capacities_version_ = 0;  // PlacerCache::capacities_version() that cycle_ was given
  scheduler::PlacementFabricPtr fabric_;  // the fabric of cycle_
  SearchedJobs searched_;
  QueueBook book_;
  std::map<scheduler::QueueJobId, std::vector<fabric::GpuId>> kept_;  // by the last cycle, in ids of fabric_
  QueueViewPtr view_ = std::make_shared<const QueueView>();
  std::uint64_t ran_at_version_ = 0;  // ClusterState::queue_version of the last cycle
  std::uint64_t told_until_ = 0;      // ... and the seq of the last event that it led to
  bool more_to_do_ = false;           // the last cycle started or evicted a job: another may start more
  std::int64_t ran_at_us_ = 0;        // by clock_, as is the next: the time of day may be set back
  std::int64_t rests_until_us_ = 0;
  const unsigned rest_;
  const std::uint64_t max_waiting_of_tenant_;
  const Clock clock_;
};

}  // namespace railweave::control
