// The only writer of the cluster state. Its thread takes a bounded batch of commands, decides them on a working copy of
// the state, appends their events to the journal in one transaction, publishes the new state, then answers the callers.
// While an append is under way and more commands wait, they are decided on the state that it will make. If the append
// fails, that is dropped too, and every caller gets an error: nothing is acknowledged that is not durable.
//
// Where the journal is shared and another process leads, it follows: the state is what that process has written, and
// changes are refused, until lead() and start().
//
// Used by the API and by live subnets. submit(), state(), phase(), queue() and figures() are thread-safe; recover(),
// follow(), lead(), start(), step() and stop() are called by one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "db/journal.h"
#include "fabric/base/log/log.h"
#include "services/control/command_queue.h"
#include "services/control/decide/follow_up.h"
#include "services/control/events/command.h"
#include "services/control/events/event_codec.h"
#include "services/control/journal_chain.h"
#include "services/control/snapshot_writer.h"
#include "services/control/state/phase.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

struct ControlOptions {
  std::size_t queue_limit = 1024;  // commands that wait; further ones are refused as busy; of a tenant's: its share
  std::size_t batch_limit = 128;   // commands per transaction
  std::uint64_t snapshot_every = 5'000;             // events
  unsigned queue_rest = 2;                          // QueueRunner: cycles take at most a third of the loop's time
  std::uint64_t max_waiting_of_tenant = 10'000;     // jobs in the queue; further ones are refused as busy
  bool reroute_for_guarantees = true;               // GuaranteeReroute sets costs automatically; else only on request
  std::function<std::int64_t()> now_us;             // unix, UTC; called from any thread; default: EventClock
  std::function<void(std::int64_t)> not_before_us;  // tells that clock of events that others stamped
  QueueRunner::Clock monotonic_us;                  // measures cycles of the queue; default: the steady clock
  std::function<void(const std::vector<db::Record>&)> on_published;  // on the control thread; must not block
  log::Log log;                                                      // of its own decisions, and of the store's trouble
  // Of a store that has refused an append: whether it takes records again, asked now and then; unset: the next command tells.
  std::function<Result<void>()> try_writing;
};

struct ControlFigures {
  std::size_t queued = 0;
  std::uint64_t accepted = 0, refused = 0, busy = 0, store_errors = 0, batches = 0, events = 0, snapshots = 0;
};

class ControlLoop {
 public:
  using Completion = std::function<void(CommandResult)>;  // called once, on the control thread; must not block

  ControlLoop(db::Journal& journal, const EventCodec& codec, ControlOptions options);
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;
  ~ControlLoop();

  // Reads the newest snapshot, then the journal after it, and prepares what the first decision needs. The phase is then
  // ready, or following where the journal is another's to write.
  [[nodiscard]] Result<void> recover();
  // Of a follower: publishes what was appended since.
  [[nodiscard]] Result<void> follow();
  // Of a follower whose journal leads now. Error (journal.behind): the store has lost what this process has read.
  [[nodiscard]] Result<void> lead();
  void start();
  // Instead of start(), for an owner that runs the loop on a thread and a clock of its own: one batch, or what is due by
  // time. False: there is nothing to do now. Snapshots are saved by save_snapshot() then.
  bool step();
  void save_snapshot() { snapshots_.save_offered(); }  // if one is due
  // Refuses commands that still wait, saves a snapshot, ends the threads. May be called twice.
  void stop();

  // False: too many commands wait; the completion is not called.
  [[nodiscard]] bool submit(Command command, Completion completion);

  [[nodiscard]] ClusterStatePtr state() const;
  // See db::Journal::leads().
  [[nodiscard]] bool leads() const { return journal_.leads(); }
  [[nodiscard]] std::uint64_t term() const { return journal_.term(); }
  // The routes of the states it decides on, to be shared with other readers of the same states.
  [[nodiscard]] const std::shared_ptr<RoutingCache>& routes() const { return routes_; }
  [[nodiscard]] Phase phase() const { return phase_.load(); }
  [[nodiscard]] ControlFigures figures() const;
  // Why the phase is store_failed; "": it is not.
  [[nodiscard]] std::string store_trouble() const;
  // Why jobs wait, as of the last cycle of the queue. Never null.
  [[nodiscard]] QueueViewPtr queue() const;
  [[nodiscard]] std::int64_t now_us() const { return options_.now_us(); }  // the clock of events

 private:
  struct Waiting {
    Command command;
    Completion completion;
  };

  // Commands that are decided and not yet durable.
  struct Decided {
    std::vector<Waiting> batch;
    std::vector<CommandResult> results;   // by command
    std::set<std::string> subjects;       // of the commands; one of each
    db::Batch writes;                     // the events
    std::shared_ptr<ClusterState> state;  // after them; null: nothing is decided
    QueueViewPtr view;                    // of the queue, after them
    std::optional<Error> failure;         // they cannot be decided
  };

  void run();
  [[nodiscard]] bool has_room(const std::string& tenant) const;
  [[nodiscard]] bool is_full(const Decided& next) const;
  [[nodiscard]] bool takes_more(const Decided& next) const;
  [[nodiscard]] std::vector<Waiting> take_batch(Decided& next);
  [[nodiscard]] std::optional<std::int64_t> due_in_us(const ClusterState& newest) const;
  void refuse_waiting();
  bool decide_more(Decided& next, const ClusterStatePtr& newest);
  void decide_all(Decided& next, std::vector<Waiting> batch);
  [[nodiscard]] Accepted decide_each(Decided& next, const Command& command, SubmitJobs several);
  [[nodiscard]] std::optional<std::vector<Accepted::Item>> plan(const ClusterState& state, const Command& command,
                                                                SubmitJobs& several);
  [[nodiscard]] Result<void> append(const db::Batch& writes);
  [[nodiscard]] Result<void> append(const Decided& done);
  void settle(Decided done, const Result<void>& appended, Decided& after);
  [[nodiscard]] bool reopen_store();
  [[nodiscard]] Result<void> read_store_again();
  void trouble(const Error& error);
  void record(ClusterState& working, db::Batch& writes, const std::string& actor, std::int64_t now_us,
              std::vector<EventBody> events, const RequestOrigin& origin = {}) const;
  void tell(const Command& command, std::string_view outcome, std::string_view code = {}) const;
  void tell_appended(const db::Batch& writes, std::int64_t took_us) const;
  void follow_up(ClusterState& working, db::Batch& writes);
  void refuse_all(std::vector<Waiting>& batch, const Error& store_error);
  void answer(Decided done);
  [[nodiscard]] Result<void> catch_up();
  void prepare();
  void publish(ClusterStatePtr state, QueueViewPtr view);

  db::Journal& journal_;
  const EventCodec& codec_;
  const ControlOptions options_;
  const BlobReader blobs_;

  std::atomic<Phase> phase_{Phase::starting};

  mutable std::mutex state_mutex_;  // guards the next two, which readers copy
  ClusterStatePtr state_;
  QueueViewPtr queue_view_ = std::make_shared<const QueueView>();

  mutable std::mutex queue_mutex_;
  std::condition_variable queue_filled_;
  CommandQueue<Waiting> queue_;  // bounded by queue_limit; by tenant of the member, "" for others
  bool stopping_ = false;
  ControlFigures figures_;
  std::string store_trouble_;

  SnapshotWriter snapshots_;

  // Used by the control thread only:
  JournalChain chain_{journal_, codec_};
  std::int64_t retry_after_us_ = 0, retry_at_us_ = 0;  // of a store that has failed
  const std::shared_ptr<RoutingCache> routes_ = std::make_shared<RoutingCache>();
  PlacerCache placers_{routes_};
  QueueRunner queue_runner_{placers_, options_.queue_rest, options_.monotonic_us, options_.max_waiting_of_tenant};
  FollowUp follow_up_{placers_, queue_runner_, options_.reroute_for_guarantees};

  std::thread thread_;
};

}  // namespace railweave::control
