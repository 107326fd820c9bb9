// Saves snapshots of the state to the store, which bound the replay at a start. A thread of its own encodes and writes
// them, so that the control loop does not wait. Owned by ControlLoop; all functions are called by the owner's threads,
// of which offer() may run beside saved().
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "db/journal.h"
#include "fabric/base/log/log.h"
#include "fabric/base/worker/worker.h"
#include "services/control/events/event_codec.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

class SnapshotWriter {
 public:
  struct Options {
    std::uint64_t every = 5'000;  // events between two snapshots
    log::Log log;
  };

  // Borrows the journal and the codec.
  SnapshotWriter(db::Journal& journal, const EventCodec& codec, Options options);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  ~SnapshotWriter();

  void start_at(std::uint64_t seq) { last_seq_ = seq; }  // of the snapshot that the store already holds
  void start();
  // Saves the state if enough events have passed since the last snapshot. A state that is still to be saved when a
  // newer one is offered is skipped.
  void offer(const ClusterStatePtr& state);
  // Instead of start(), on the caller's thread: saves the state that was offered last, if it is still to be saved.
  void save_offered();
  // Saves the last state if it is newer than the last snapshot, then ends the thread.
  void stop(const ClusterStatePtr& last);

  [[nodiscard]] std::uint64_t saved() const { return saved_; }

 private:
  void save(const ClusterState& state);

  db::Journal& journal_;
  const EventCodec& codec_;
  const Options options_;
  std::uint64_t last_seq_ = 0;  // offer() and stop() only
  std::atomic<std::uint64_t> saved_ = 0;

  std::mutex mutex_;
  ClusterStatePtr next_;        // guarded by mutex_
  Worker worker_{"snapshots"};  // last: uses all of the above
};

}  // namespace railweave::control
