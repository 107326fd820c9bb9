// The only writer. Takes a bounded batch of commands, decides them on a working copy of the state, appends their events
// in one transaction, publishes the new state, then answers the callers. If the append fails, the working copy is
// dropped and every caller of the batch hears so: nothing is acknowledged that is not durable.
//
// Thread-safety: submit(), state(), phase() and figures() from any thread; recover(), start() and stop() from the
// owner's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "db/journal.h"
#include "services/control/decide/follow_up.h"
#include "services/control/events/command.h"
#include "services/control/events/event_codec.h"
#include "services/control/state/phase.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

struct ControlOptions {
  std::size_t queue_limit = 1024;        // commands waiting; more are refused as busy
  std::size_t batch_limit = 128;         // commands per transaction
  std::uint64_t snapshot_every = 5'000;  // events
  unsigned queue_rest = 2;               // the queue's cycles take at most a third of the loop's time
  bool reroute_for_guarantees = true;    // GuaranteeReroute: at once; else they are only proposed
  std::function<std::int64_t()> now_us;  // unix, UTC; from any thread; default: the system clock
  std::function<void(const std::vector<db::Record>&)> on_published;  // on the control thread; must not block
  std::function<void(const std::string&)> warn;                      // for the log
};

struct ControlFigures {
  std::size_t queued = 0;
  std::uint64_t accepted = 0, refused = 0, busy = 0, store_errors = 0, batches = 0, events = 0, snapshots = 0;
};

class ControlLoop {
 public:
  using Completion = std::function<void(CommandResult)>;  // once, on the control thread; must not block

  ControlLoop(db::Journal& journal, const EventCodec& codec, ControlOptions options);
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;
  ~ControlLoop();

  // Newest snapshot, then the journal after it.
  [[nodiscard]] Result<void> recover();
  void start();
  // Refuses what is still queued, saves a snapshot, ends the threads. May be called twice.
  void stop();

  // false: the queue is full; the completion is not called.
  [[nodiscard]] bool submit(Command command, Completion completion);

  [[nodiscard]] ClusterStatePtr state() const;
  // Of the states it decides on: to be shared by whoever asks about the same ones.
  [[nodiscard]] const std::shared_ptr<RoutingCache>& routes() const { return routes_; }
  [[nodiscard]] Phase phase() const { return phase_.load(); }
  [[nodiscard]] ControlFigures figures() const;
  // Why jobs wait, as of the last cycle. Never null.
  [[nodiscard]] QueueViewPtr queue() const;
  [[nodiscard]] std::int64_t now_us() const { return options_.now_us(); }  // as events are stamped

 private:
  struct Waiting {
    Command command;
    Completion completion;
  };

  void run();
  void run_batch(std::vector<Waiting> batch);
  [[nodiscard]] bool wait_for_work(std::unique_lock<std::mutex>& lock);
  void record(ClusterState& working, db::Batch& writes, const std::string& actor, std::int64_t now_us,
              std::vector<EventBody> events) const;
  void follow_up(ClusterState& working, db::Batch& writes);
  [[nodiscard]] Result<void> catch_up();
  void publish(ClusterStatePtr state);
  void snapshot_if_due();
  void run_snapshots();

  db::Journal& journal_;
  const EventCodec& codec_;
  const ControlOptions options_;
  const BlobReader blobs_;

  std::atomic<Phase> phase_{Phase::starting};

  mutable std::mutex state_mutex_;  // guards these two only: readers copy the pointers
  ClusterStatePtr state_;
  QueueViewPtr queue_view_ = std::make_shared<const QueueView>();

  mutable std::mutex queue_mutex_;
  std::condition_variable queue_filled_;
  std::deque<Waiting> queue_;  // bounded by queue_limit
  bool stopping_ = false;
  ControlFigures figures_;

  std::mutex snapshot_mutex_;
  std::condition_variable snapshot_wanted_;
  ClusterStatePtr to_snapshot_;
  bool snapshots_stopping_ = false;

  // The control thread's own:
  const std::shared_ptr<RoutingCache> routes_ = std::make_shared<RoutingCache>();
  PlacerCache placers_{routes_};
  QueueRunner queue_runner_{placers_, options_.queue_rest};
  FollowUp follow_up_{placers_, queue_runner_, options_.reroute_for_guarantees};
  std::uint64_t snapshot_seq_ = 0;

  std::thread thread_, snapshot_thread_;
};

}  // namespace railweave::control
