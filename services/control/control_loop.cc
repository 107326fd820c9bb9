#include "services/control/control_loop.h"

#include <chrono>
#include <utility>

#include "services/control/decide/decide.h"
#include "services/control/events/apply.h"

namespace railweave::control {
namespace {

std::int64_t system_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

ControlOptions with_defaults(ControlOptions options) {
  if (!options.now_us) options.now_us = system_now_us;
  if (!options.on_published) options.on_published = [](const auto&) {};
  if (!options.warn) options.warn = [](const auto&) {};
  return options;
}

Rejection unavailable(Phase phase) {
  return {{ErrorKind::unavailable,
           "service.notReady",
           "the service does not take changes now: it is " + std::string(to_string(phase)),
           {},
           "try again shortly; GET /readyz says when"},
          nullptr};
}

}  // namespace

ControlLoop::ControlLoop(db::Journal& journal, const EventCodec& codec, ControlOptions options)
    : journal_(journal),
      codec_(codec),
      options_(with_defaults(std::move(options))),
      blobs_([&journal](const std::string& digest) { return journal.blob(digest); }),
      state_(std::make_shared<const ClusterState>()) {}

ControlLoop::~ControlLoop() { stop(); }

ClusterStatePtr ControlLoop::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

QueueViewPtr ControlLoop::queue() const {
  const std::lock_guard lock(state_mutex_);
  return queue_view_;
}

void ControlLoop::publish(ClusterStatePtr state) {
  const std::lock_guard lock(state_mutex_);
  state_ = std::move(state);
  queue_view_ = queue_runner_.view();
}

ControlFigures ControlLoop::figures() const {
  const std::lock_guard lock(queue_mutex_);
  ControlFigures figures = figures_;
  figures.queued = queue_.size();
  return figures;
}

Result<void> ControlLoop::recover() {
  phase_ = Phase::replaying;
  auto snapshot = journal_.latest_snapshot();
  if (!snapshot) return std::unexpected(snapshot.error());
  if (*snapshot) {
    auto restored = codec_.decode_state(**snapshot, blobs_);
    if (restored) {
      snapshot_seq_ = restored->seq;
      publish(std::make_shared<const ClusterState>(std::move(*restored)));
    } else {
      // The journal is complete, so a snapshot that cannot be read costs time, not data.
      options_.warn("snapshot at " + std::to_string((*snapshot)->seq) +
                    " cannot be read, replaying the whole journal: " + restored.error().text());
    }
  }
  if (auto caught_up = catch_up(); !caught_up) return caught_up;
  phase_ = Phase::ready;
  return {};
}

Result<void> ControlLoop::catch_up() {
  auto working = std::make_shared<ClusterState>(*state());
  const std::uint64_t from = working->seq;
  std::vector<db::Record> found_again;  // an append that failed had been stored after all: watchers are told late
  for (;;) {
    auto records =
        journal_.read({.after_seq = working->seq, .limit = 1000, .kinds = {}, .subject_kind = {}, .subject_id = {}});
    if (!records) return std::unexpected(records.error());
    if (records->empty()) break;
    for (const auto& record : *records) {
      auto event = codec_.decode(record, *working, blobs_);
      if (!event) return std::unexpected(event.error());
      apply(*working, *event);
    }
    if (phase_ == Phase::store_failed) found_again.insert(found_again.end(), records->begin(), records->end());
  }
  if (working->seq != from) publish(std::move(working));
  if (!found_again.empty()) options_.on_published(found_again);
  return {};
}

void ControlLoop::start() {
  thread_ = std::thread([this] { run(); });
  snapshot_thread_ = std::thread([this] { run_snapshots(); });
}

void ControlLoop::stop() {
  {
    const std::lock_guard lock(queue_mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  phase_ = Phase::stopping;
  queue_filled_.notify_all();
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(snapshot_mutex_);
    snapshots_stopping_ = true;
    if (const auto last = state(); thread_.get_id() == std::thread::id() && last->seq > snapshot_seq_)
      to_snapshot_ = last;
  }
  snapshot_wanted_.notify_all();
  if (snapshot_thread_.joinable()) snapshot_thread_.join();
}

bool ControlLoop::submit(Command command, Completion completion) {
  {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.size() >= options_.queue_limit) {
      ++figures_.busy;
      return false;
    }
    if (!stopping_) {
      queue_.push_back({std::move(command), std::move(completion)});
      queue_filled_.notify_one();
      return true;
    }
  }
  completion(std::unexpected(unavailable(Phase::stopping)));
  return true;
}

void ControlLoop::run() {
  for (;;) {
    std::vector<Waiting> batch;
    bool stopping = false;
    {
      std::unique_lock lock(queue_mutex_);
      if (!wait_for_work(lock)) continue;
      stopping = stopping_;
      const std::size_t take = stopping ? queue_.size() : std::min(queue_.size(), options_.batch_limit);
      for (std::size_t i = 0; i < take; ++i) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
    }
    if (stopping) {
      for (auto& waiting : batch) waiting.completion(std::unexpected(unavailable(Phase::stopping)));
      return;
    }
    run_batch(std::move(batch));
    snapshot_if_due();
  }
}

// True: commands wait, it is to stop, or the time has come for what the state itself asks for.
bool ControlLoop::wait_for_work(std::unique_lock<std::mutex>& lock) {
  constexpr auto kMost = std::chrono::milliseconds(500);  // the clock may be set
  const auto called = [this] { return stopping_ || !queue_.empty(); };
  const auto due_at = phase_ == Phase::ready ? follow_up_.due_at(*state()) : std::nullopt;
  if (!due_at) {
    queue_filled_.wait(lock, called);
    return true;
  }
  const auto left = std::chrono::microseconds(*due_at - options_.now_us());
  if (left > std::chrono::microseconds(0)) {
    queue_filled_.wait_for(lock, std::min<std::chrono::microseconds>(left, kMost), called);
  }
  return called() || *due_at <= options_.now_us();
}

void ControlLoop::record(ClusterState& working, db::Batch& writes, const std::string& actor, std::int64_t now_us,
                         std::vector<EventBody> events) const {
  for (auto& body : events) {
    const Event event{working.seq + 1, working.term, now_us, actor, std::move(body)};
    apply(working, event);
    auto encoded = codec_.encode(event, working);
    writes.records.push_back(std::move(encoded.record));
    if (encoded.blob) writes.blobs.push_back(std::move(*encoded.blob));
    for (auto& row : encoded.reports) writes.reports.push_back(std::move(row));
  }
}

void ControlLoop::follow_up(ClusterState& working, db::Batch& writes) {
  constexpr unsigned kMostSteps = 10'000;
  const std::int64_t now_us = options_.now_us();
  follow_up_.begin();
  for (unsigned step = 0; step < kMostSteps; ++step) {
    auto events = follow_up_.next(working, now_us);
    if (events.empty()) return;
    record(working, writes, "railweave", now_us, std::move(events));
  }
}

void ControlLoop::run_batch(std::vector<Waiting> batch) {
  if (phase_ == Phase::store_failed) {
    if (auto caught_up = catch_up(); !caught_up) {
      options_.warn("the store still fails: " + caught_up.error().text());
      for (auto& waiting : batch) waiting.completion(std::unexpected(unavailable(Phase::store_failed)));
      return;
    }
    phase_ = Phase::ready;
  }

  // 1. Decide all of them on a working state.
  auto working = std::make_shared<ClusterState>(*state());
  db::Batch writes;
  std::vector<CommandResult> results;
  results.reserve(batch.size());
  for (const auto& waiting : batch) {
    const std::int64_t now_us = options_.now_us();
    auto decision = decide(*working, waiting.command, now_us, placers_, queue_runner_);
    if (!decision) {
      results.emplace_back(std::unexpected(std::move(decision.error())));
      continue;
    }
    record(*working, writes, waiting.command.actor, now_us, std::move(decision->events));
    results.emplace_back(Accepted{nullptr, decision->job, decision->replayed});
  }

  follow_up(*working, writes);

  // 2. Make their events durable, all or none.
  if (!writes.records.empty()) {
    if (auto appended = journal_.append(writes); !appended) {
      options_.warn("append failed, " + std::to_string(batch.size()) + " requests refused: " + appended.error().text());
      phase_ = Phase::store_failed;
      follow_up_.forget();
      {
        const std::lock_guard lock(queue_mutex_);
        ++figures_.store_errors;
      }
      for (std::size_t i = 0; i < batch.size(); ++i) {
        // Refusals too: they may have rested on earlier commands of the batch.
        Rejection rejection{appended.error(), nullptr};
        rejection.error.kind = ErrorKind::unavailable;
        rejection.error.code = "service.storeFailed";
        rejection.error.hint = "it is not known to be stored: repeat it with the same Idempotency-Key";
        batch[i].completion(std::unexpected(std::move(rejection)));
      }
      return;
    }
    // 3. Publish.
    publish(working);
    options_.on_published(writes.records);
  } else if (queue_runner_.view() != queue()) {
    publish(state());
  }

  // 4. Answer.
  const ClusterStatePtr published = state();
  {
    const std::lock_guard lock(queue_mutex_);
    ++figures_.batches;
    figures_.events += writes.records.size();
    for (const auto& result : results) ++(result ? figures_.accepted : figures_.refused);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (results[i]) results[i]->state = published;
    batch[i].completion(std::move(results[i]));
  }
}

void ControlLoop::snapshot_if_due() {
  const ClusterStatePtr now = state();
  if (now->seq - snapshot_seq_ < options_.snapshot_every) return;
  snapshot_seq_ = now->seq;
  {
    const std::lock_guard lock(snapshot_mutex_);
    to_snapshot_ = now;
  }
  snapshot_wanted_.notify_one();
}

void ControlLoop::run_snapshots() {
  for (;;) {
    ClusterStatePtr next;
    {
      std::unique_lock lock(snapshot_mutex_);
      snapshot_wanted_.wait(lock, [this] { return snapshots_stopping_ || to_snapshot_ != nullptr; });
      next = std::exchange(to_snapshot_, nullptr);
      if (next == nullptr) return;
    }
    const db::Snapshot snapshot{next->seq, next->term, options_.now_us(), 1, codec_.encode_state(*next)};
    if (auto saved = journal_.save_snapshot(snapshot); !saved) {
      options_.warn("snapshot not saved, the next start replays more: " + saved.error().text());
    } else {
      const std::lock_guard lock(queue_mutex_);
      ++figures_.snapshots;
    }
  }
}

}  // namespace railweave::control
