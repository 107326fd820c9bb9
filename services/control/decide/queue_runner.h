// Runs the queue's cycles on states and makes events of what they find. Owns what a cycle needs between runs (two
// placers, the rate limit); decides nothing else. One per thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/queue/queue_cycle.h"
#include "services/control/events/event.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// Why each job waits, as the last cycle found: newer than what histories say, and not durable.
struct QueueView {
  std::uint64_t seq = 0;  // of the state it was run on
  std::int64_t time_us = 0;
  std::int64_t wake_us = 0;                    // when it looks again though nothing happens; 0: it does not
  std::uint64_t cycles = 0;                    // since the start
  std::int64_t took_us = 0;                    // the last one
  std::vector<scheduler::WaitingJob> waiting;  // in the order of the queue
};
using QueueViewPtr = std::shared_ptr<const QueueView>;

// What a cycle is told of a state. Borrows the state's jobs.
struct QueueFacts {
  scheduler::QueuePolicy policy;
  std::vector<JobPtr> jobs;  // keeps alive what the views below point at
  std::vector<scheduler::QueuedJob> queued;
  std::vector<scheduler::RunningJob> running;
  std::deque<std::vector<fabric::GpuId>> held;  // of running jobs that hold idle GPUs too
  std::optional<scheduler::FairShare> used;     // where the policy asks for it

  QueueFacts(const ClusterState& state, std::int64_t now_us);
};

class QueueRunner {
 public:
  // After a cycle it rests for `rest` times as long as the cycle took. Borrows the cache.
  QueueRunner(PlacerCache& placers, unsigned rest) : placers_(placers), rest_(rest) {}

  static constexpr std::size_t kMaxNotes = 1'000;  // new reasons that one cycle writes into histories

  // Is there something to do: jobs wait, and something changed since the last cycle, or its time has come?
  [[nodiscard]] bool due(const ClusterState& state, std::int64_t now_us) const;
  // When due() may become true by time alone; none: not by time.
  [[nodiscard]] std::optional<std::int64_t> due_at(const ClusterState& state) const;

  // The events of one cycle, in the order in which they are to be applied, all of them or none.
  std::vector<EventBody> run(const ClusterState& state, std::int64_t now_us);

  // May this job, which is not in the queue, start now without harm to those that are? The events that start it (and
  // whatever else the cycle starts), or why not.
  struct Verdict {
    std::vector<EventBody> events;  // empty: it may not
    scheduler::WaitReason reason;
  };
  Verdict ask(const ClusterState& state, const JobPtr& job, std::int64_t now_us);

  // What the last cycle found was not stored: it counts as not run.
  void forget() { more_to_do_ = true; }

  [[nodiscard]] const QueueViewPtr& view() const { return view_; }

 private:
  // At what links have left in that state.
  scheduler::QueueCycle& cycle(const ClusterState& state);

  PlacerCache& placers_;
  std::unique_ptr<scheduler::QueueCycle> cycle_;
  std::uint64_t capacities_version_ = 0;  // PlacerCache's, that it was told
  scheduler::PlacementFabricPtr fabric_;  // that cycle_ is of
  QueueViewPtr view_ = std::make_shared<const QueueView>();
  std::uint64_t ran_at_version_ = 0;  // ClusterState::queue_version
  bool more_to_do_ = false;           // the last cycle started or evicted somebody: another may find more
  std::int64_t not_before_us_ = 0;
  unsigned rest_;
};

}  // namespace railweave::control
