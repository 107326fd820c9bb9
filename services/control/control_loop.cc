#include "services/control/control_loop.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/fair_share.h"
#include "services/control/batch_writer.h"
#include "services/control/decide/decide.h"
#include "services/control/event_clock.h"
#include "services/control/events/apply.h"
#include "services/control/events/command_subject.h"

namespace railweave::control {
namespace {

std::int64_t system_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t steady_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ControlOptions with_defaults(ControlOptions options) {
  if (!options.now_us) {
    const auto clock = std::make_shared<EventClock>(system_now_us, steady_now_us);
    options.now_us = [clock] { return clock->now_us(); };
    options.not_before_us = [clock](std::int64_t time_us) { clock->not_before(time_us); };
  }
  if (!options.not_before_us) options.not_before_us = [](std::int64_t) {};
  if (!options.monotonic_us) options.monotonic_us = steady_now_us;
  if (!options.on_published) options.on_published = [](const auto&) {};
  return options;
}

Rejection unavailable(Phase phase) {
  return {{ErrorKind::unavailable,
           "service.notReady",
           "the service accepts no changes now: it is " + std::string(to_string(phase)),
           {},
           "repeat the request when GET /readyz answers 200"},
          nullptr};
}

Rejection store_fails(const std::string& trouble) {
  Rejection rejection = unavailable(Phase::store_failed);
  rejection.error.code = "service.storeFailed";
  rejection.error.message = "the service accepts no changes now, as its store fails: " + trouble;
  return rejection;
}

constexpr const char* kOutOfMemory = "service.outOfMemory";

Error no_memory() { return {ErrorKind::unavailable, kOutOfMemory, "there is no memory to decide the change", {}, {}}; }

}  // namespace

ControlLoop::ControlLoop(db::Journal& journal, const EventCodec& codec, ControlOptions options)
    : journal_(journal),
      codec_(codec),
      options_(with_defaults(std::move(options))),
      blobs_([&journal](const std::string& digest) { return journal.blob(digest); }),
      state_(std::make_shared<const ClusterState>()),
      snapshots_(journal, codec, {options_.snapshot_every, options_.log.of(log::Subject::store)}) {}

ControlLoop::~ControlLoop() { stop(); }

ClusterStatePtr ControlLoop::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

QueueViewPtr ControlLoop::queue() const {
  const std::lock_guard lock(state_mutex_);
  return queue_view_;
}

void ControlLoop::publish(ClusterStatePtr state, QueueViewPtr view) {
  const std::lock_guard lock(state_mutex_);
  options_.not_before_us(state->time_us);
  state_ = std::move(state);
  queue_view_ = std::move(view);
}

ControlFigures ControlLoop::figures() const {
  const std::lock_guard lock(queue_mutex_);
  ControlFigures figures = figures_;
  figures.queued = queue_.size();
  figures.snapshots = snapshots_.saved();
  return figures;
}

Result<void> ControlLoop::recover() {
  phase_ = Phase::replaying;
  auto snapshot = journal_.latest_snapshot();
  if (!snapshot) return std::unexpected(snapshot.error());
  if (*snapshot) {
    auto restored = codec_.decode_state(**snapshot, blobs_);
    if (restored) {
      snapshots_.start_at(restored->seq);
      publish(std::make_shared<const ClusterState>(std::move(*restored)), queue_runner_.view());
    } else {
      // The journal is complete: without the snapshot the start only takes longer.
      options_.log.warn("the snapshot of event {} cannot be read, the whole journal is replayed: {}", (*snapshot)->seq,
                        restored.error().text());
    }
  }
  if (auto caught_up = catch_up(); !caught_up) return caught_up;
  prepare();
  phase_ = journal_.leads() ? Phase::ready : Phase::following;
  return {};
}

// What the first decision would wait for: routes and the index of free GPUs.
void ControlLoop::prepare() {
  const auto state = this->state();
  if (state->accepted.digest.empty()) return;
  (void)routes_->at(*state);
  (void)placers_.at(*state);
}

Result<void> ControlLoop::follow() {
  const auto before = state();
  auto caught_up = catch_up();
  // A take-over is as quick as the index is fresh.
  if (caught_up && state() != before) prepare();
  return caught_up;
}

Result<void> ControlLoop::lead() {
  const auto stored = journal_.last_seq();
  if (!stored) return std::unexpected(stored.error());
  if (*stored < state()->seq) {
    return fail(ErrorKind::conflict, "journal.behind",
                fmt::format("the store ends at record {}, but {} were read from it: it was restored, or failed over to "
                            "a standby that had less",
                            *stored, state()->seq),
                {}, "this process starts again from the store as it is");
  }
  if (auto caught_up = catch_up(); !caught_up) return caught_up;
  chain_.forget();
  prepare();
  phase_ = Phase::ready;
  return {};
}

Result<void> ControlLoop::catch_up() {
  auto working = std::make_shared<ClusterState>(*state());
  const std::uint64_t from = working->seq;
  // Of an append that failed although it was stored, or of another process: nothing has told of them yet.
  const bool tells = phase_ == Phase::store_failed || phase_ == Phase::following;
  for (;;) {
    auto records =
        journal_.read({.after_seq = working->seq, .limit = 1000, .kinds = {}, .subject_kind = {}, .subject_id = {}});
    if (!records) return std::unexpected(records.error());
    if (records->empty()) break;
    if (records->front().seq != working->seq + 1) {
      return fail(
          ErrorKind::internal, "journal.beginsLater",
          fmt::format(
              "the journal begins at record {}: the ones before were removed behind snapshots, which cannot be read",
              records->front().seq),
          {}, "restore the store from a backup");
    }
    for (const auto& record : *records) {
      auto event = codec_.decode(record, *working, blobs_);
      if (!event) return std::unexpected(event.error());
      apply(*working, *event);
    }
    if (tells) {
      publish(std::make_shared<const ClusterState>(*working), queue_runner_.view());
      options_.on_published(*records);
    }
  }
  if (working->seq != from && !tells) publish(std::move(working), queue_runner_.view());
  return {};
}

void ControlLoop::start() {
  thread_ = std::thread([this] { run(); });
  snapshots_.start();
}

void ControlLoop::stop() {
  const bool has_led = phase_ != Phase::following;
  {
    const std::lock_guard lock(queue_mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  phase_ = Phase::stopping;
  queue_filled_.notify_all();
  if (thread_.joinable()) thread_.join();
  refuse_waiting();  // where no thread did
  if (has_led) snapshots_.stop(state());
}

// A tenant's members have a share of the queue; operators and what the service does itself may fill it.
bool ControlLoop::has_room(const std::string& tenant) const {
  if (tenant.empty()) return queue_.size() < options_.queue_limit;
  return within_fair_share(queue_.size_of(tenant), queue_.size(), options_.queue_limit - options_.queue_limit / 8);
}

bool ControlLoop::submit(Command command, Completion completion) {
  bool follows = false;
  {
    const std::lock_guard lock(queue_mutex_);
    if (!has_room(command.origin.tenant)) {
      ++figures_.busy;
      return false;
    }
    if (phase_ == Phase::following) {
      follows = true;
    } else if (!stopping_) {
      const std::string tenant = command.origin.tenant;
      queue_.push(tenant, {std::move(command), std::move(completion)});
      queue_filled_.notify_one();
      return true;
    }
  }
  completion(std::unexpected(unavailable(follows ? Phase::following : Phase::stopping)));
  return true;
}

void ControlLoop::run() {
  BatchWriter writer([this](const db::Batch& batch) { return append(batch); },
                     [this] {
                       const std::lock_guard lock(queue_mutex_);
                       queue_filled_.notify_all();
                     });
  constexpr auto kMaxWait = std::chrono::milliseconds(500);  // the system clock may be set meanwhile
  Decided flushing, next;  // next is decided on what flushing makes, and empty while nothing is flushed
  for (;;) {
    const auto newest = next.state != nullptr ? next.state : flushing.state != nullptr ? flushing.state : state();
    bool more = false;  // commands or time ask for decisions
    {
      std::unique_lock lock(queue_mutex_);
      const auto flushed = [&] { return flushing.state != nullptr && writer.is_done(); };
      const auto called = [&] { return stopping_ || flushed() || takes_more(next); };
      if (const auto due = is_full(next) ? std::nullopt : due_in_us(*newest); !due) {
        queue_filled_.wait(lock, called);
      } else if (*due > 0) {
        queue_filled_.wait_for(lock, std::min<std::chrono::microseconds>(std::chrono::microseconds(*due), kMaxWait),
                               called);
      }
      if (stopping_) break;
      more = takes_more(next);
    }
    if (flushing.state != nullptr && writer.is_done()) {
      settle(std::exchange(flushing, {}), writer.take(), next);
      snapshots_.offer(state());
    } else if (more || (!is_full(next) && due_in_us(*newest).value_or(1) <= 0)) {
      (void)decide_more(next, newest);
    }
    if (flushing.state != nullptr || next.state == nullptr) continue;
    // One command alone is answered sooner without a second thread.
    chain_.link(next.writes.records);
    if (next.batch.size() <= 1 || next.failure || next.writes.records.empty()) {
      Decided none;
      const auto appended = append(next);
      settle(std::exchange(next, {}), appended, none);
      snapshots_.offer(state());
    } else {
      flushing = std::exchange(next, {});
      writer.begin(flushing.writes);
    }
  }
  if (flushing.state != nullptr) settle(std::exchange(flushing, {}), writer.take(), next);
  for (auto& waiting : next.batch) waiting.completion(std::unexpected(unavailable(Phase::stopping)));
  refuse_waiting();
}

bool ControlLoop::step() {
  Decided next, none;
  if (!decide_more(next, state())) return false;
  if (next.state == nullptr) return true;
  chain_.link(next.writes.records);
  const auto appended = append(next);
  settle(std::move(next), appended, none);
  snapshots_.offer(state());
  return true;
}

void ControlLoop::refuse_waiting() {
  CommandQueue<Waiting> all;
  {
    const std::lock_guard lock(queue_mutex_);
    all = std::exchange(queue_, {});
  }
  while (!all.empty()) all.pop().completion(std::unexpected(unavailable(Phase::stopping)));
}

bool ControlLoop::is_full(const Decided& next) const {
  constexpr std::size_t kMaxRecords = 10'000;  // of follow-up steps, while an append takes long
  return next.batch.size() >= options_.batch_limit || next.writes.records.size() >= kMaxRecords || next.failure;
}

// Under queue_mutex_. Whether the command that waits first goes with those that are decided.
bool ControlLoop::takes_more(const Decided& next) const {
  return !queue_.empty() && !is_full(next) && !next.subjects.contains(subject_of(queue_.front().command));
}

// Under queue_mutex_. Ends before a second command about one subject.
std::vector<ControlLoop::Waiting> ControlLoop::take_batch(Decided& next) {
  std::vector<Waiting> batch;
  while (!queue_.empty() && next.batch.size() + batch.size() < options_.batch_limit) {
    const std::string subject = subject_of(queue_.front().command);
    if (!subject.empty() && !next.subjects.insert(subject).second) break;
    batch.push_back(queue_.pop());
  }
  return batch;
}

// Until a follow-up step is due by time, or a store that has failed is tried again; none: neither is.
std::optional<std::int64_t> ControlLoop::due_in_us(const ClusterState& newest) const {
  if (phase_ == Phase::store_failed && options_.try_writing)
    return std::max<std::int64_t>(0, retry_at_us_ - options_.now_us());
  return phase_ == Phase::ready ? follow_up_.due_in_us(newest, options_.now_us()) : std::nullopt;
}

void ControlLoop::follow_up(ClusterState& working, db::Batch& writes) {
  constexpr unsigned kMaxSteps = 10'000;
  const std::int64_t now_us = options_.now_us();
  follow_up_.begin();
  for (unsigned step = 0; step < kMaxSteps; ++step) {
    auto events = follow_up_.next(working, now_us);
    if (events.empty()) return;
    record(working, writes, "railweave", now_us, std::move(events));
  }
}

// Commands that wait, then what follows from the state itself, on a copy of the newest state. False: there is nothing to do.
bool ControlLoop::decide_more(Decided& next, const ClusterStatePtr& newest) {
  std::vector<Waiting> batch;
  {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.empty() && due_in_us(*newest).value_or(1) > 0) return false;
    batch = take_batch(next);
  }
  ClusterStatePtr from = newest;
  if (phase_ == Phase::store_failed) {
    // Nothing is being appended then: what was decided was dropped with the failure.
    if (!reopen_store()) {
      const Rejection refusal = store_fails(store_trouble());
      for (auto& waiting : batch) waiting.completion(std::unexpected(refusal));
      next = {};
      return true;
    }
    from = state();
  }
  if (next.state == nullptr) next.state = std::make_shared<ClusterState>(*from);
  try {
    decide_all(next, std::move(batch));
    follow_up(*next.state, next.writes);
  } catch (const std::bad_alloc&) {
    next.failure = no_memory();
  }
  next.view = queue_runner_.view();
  return true;
}

// All of it or nothing; nothing where there is nothing to append.
Result<void> ControlLoop::append(const Decided& done) {
  if (done.failure) return std::unexpected(*done.failure);
  return done.writes.records.empty() ? Result<void>() : append(done.writes);
}

// after: what was decided on the state that this makes.
void ControlLoop::settle(Decided done, const Result<void>& appended, Decided& after) {
  if (!appended) {
    chain_.forget();
    std::ranges::move(after.batch, std::back_inserter(done.batch));
    after = {};
    return refuse_all(done.batch, appended.error());
  }
  if (!done.writes.records.empty()) {
    publish(done.state, done.view);
    options_.on_published(done.writes.records);
  } else if (done.view != queue()) {
    publish(state(), done.view);
  }
  answer(std::move(done));
}

Result<void> ControlLoop::append(const db::Batch& writes) {
  try {
    const std::int64_t began_us = steady_now_us();
    auto appended = journal_.append(writes);
    if (appended) tell_appended(writes, steady_now_us() - began_us);
    return appended;
  } catch (const std::bad_alloc&) {
    return std::unexpected(no_memory());
  }
}

void ControlLoop::decide_all(Decided& next, std::vector<Waiting> batch) {
  const std::size_t first = next.batch.size();
  std::ranges::move(batch, std::back_inserter(next.batch));
  for (std::size_t i = first; i < next.batch.size(); ++i) {
    const Command& command = next.batch[i].command;
    const std::int64_t now_us = options_.now_us();
    if (const auto* several = std::get_if<SubmitJobs>(&command.body)) {
      next.results.emplace_back(decide_each(next, command, *several));
      continue;
    }
    auto decision = decide(*next.state, command, now_us, placers_, queue_runner_);
    if (!decision) {
      tell(command, "refused", decision.error().error.code);
      next.results.emplace_back(std::unexpected(std::move(decision.error())));
      continue;
    }
    record(*next.state, next.writes, command.actor, now_us, std::move(decision->events), command.origin);
    if (decision->refusal) {
      next.results.emplace_back(std::unexpected(std::move(*decision->refusal)));
    } else {
      next.results.emplace_back(Accepted{nullptr, decision->job, decision->replayed});
    }
  }
}

// The items of a batch, each on what the ones before it made of the state.
Accepted ControlLoop::decide_each(Decided& next, const Command& command, SubmitJobs several) {
  Accepted accepted;
  if (several.gang) {
    if (auto refused = plan(*next.state, command, several)) {
      accepted.items = std::move(*refused);
      return accepted;
    }
  }
  for (const auto& item : several.items) {
    const std::int64_t now_us = options_.now_us();
    auto decision = decide(*next.state, {command.actor, item, command.origin}, now_us, placers_, queue_runner_);
    if (!decision) {
      accepted.items.push_back({{}, false, std::make_shared<const Rejection>(std::move(decision.error()))});
      continue;
    }
    record(*next.state, next.writes, command.actor, now_us, std::move(decision->events), command.origin);
    accepted.items.push_back({decision->job, decision->replayed, nullptr});
  }
  return accepted;
}

// Refused commands get this answer too: their refusal may have depended on earlier commands of the batch.
void ControlLoop::refuse_all(std::vector<Waiting>& batch, const Error& store_error) {
  options_.log.warn("append failed, {} requests refused: {}", batch.size(), store_error.text());
  for (const auto& waiting : batch) tell(waiting.command, "not acknowledged", store_error.code);
  trouble(store_error);
  follow_up_.reset();
  {
    const std::lock_guard lock(queue_mutex_);
    ++figures_.store_errors;
  }
  Error error = store_error;
  error.kind = ErrorKind::unavailable;
  if (error.code != kOutOfMemory) error.code = "service.storeFailed";
  error.hint = "the outcome is unknown: repeat the request with the same Idempotency-Key";
  for (auto& waiting : batch) waiting.completion(std::unexpected(Rejection{error, nullptr}));
}

void ControlLoop::answer(Decided done) {
  const ClusterStatePtr published = state();
  {
    const std::lock_guard lock(queue_mutex_);
    ++figures_.batches;
    figures_.events += done.writes.records.size();
    for (const auto& result : done.results) ++(result ? figures_.accepted : figures_.refused);
  }
  for (std::size_t i = 0; i < done.batch.size(); ++i) {
    if (done.results[i]) done.results[i]->state = published;
    tell(done.batch[i].command, done.results[i] ? "answered" : "refused");
    done.batch[i].completion(std::move(done.results[i]));
  }
}

}  // namespace railweave::control
