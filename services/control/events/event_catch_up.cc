#include <fmt/core.h>
#include "services/control/events/event_catch_up.h"

#include <chrono>
#include <utility>

namespace railweave::control {
namespace {

constexpr std::size_t kPage = 1000;
constexpr auto kPause = std::chrono::milliseconds(20);  // when every watcher is full

bool go_live(EventFeed& feed, std::uint64_t after_seq, const std::shared_ptr<EventWatcher>& watcher) {
  return feed.subscribe(after_seq, [watcher](const db::Record& record) { return watcher->deliver(record); })
      .has_value();
}

}  // namespace

EventCatchUp::EventCatchUp(db::Journal& journal, EventFeed& feed)
    : journal_(journal), feed_(feed), thread_([this] { run(); }) {}

EventCatchUp::~EventCatchUp() { stop(); }

void EventCatchUp::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EventCatchUp::follow(std::uint64_t after_seq, std::shared_ptr<EventWatcher> watcher) {
  if (go_live(feed_, after_seq, watcher)) return;
  {
    const std::lock_guard lock(mutex_);
    behind_.push_back({after_seq, std::move(watcher)});
  }
  wake_.notify_one();
}

void EventCatchUp::run() {
  std::unique_lock lock(mutex_);
  std::size_t idle = 0;  // consecutive watchers that had no room
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !behind_.empty(); });
    if (stopping_) return;
    if (idle >= behind_.size()) {
      wake_.wait_for(lock, kPause, [this] { return stopping_; });
      if (stopping_) return;
      idle = 0;
    }
    Behind next = std::move(behind_.front());
    behind_.pop_front();
    lock.unlock();
    const bool full = !next.watcher->closed() && !next.watcher->ready();
    const bool done = !full && step(next);
    lock.lock();
    idle = full ? idle + 1 : 0;
    if (!done) behind_.push_back(std::move(next));
  }
}

bool EventCatchUp::step(Behind& behind) {
  if (behind.watcher->closed()) return true;
  auto records = journal_.read({.after_seq = behind.after_seq,
                                .limit = kPage,
                                .kinds = {},
                                .subject_kind = {},
                                .subject_id = {},
                                .with_damaged = true});
  if (!records) {
    behind.watcher->failed("the journal cannot be read: " + records.error().text());
    return true;
  }
  if (behind.after_seq != 0 && !records->empty() && records->front().seq != behind.after_seq + 1) {
    behind.watcher->failed(fmt::format("the events after {} are not kept any more: the oldest is {}", behind.after_seq, records->front().seq));
    return true;
  }
  for (const auto& record : *records) {
    if (!behind.watcher->deliver(record)) return true;
    behind.after_seq = record.seq;
  }
  if (go_live(feed_, behind.after_seq, behind.watcher)) return true;
  if (!records->empty()) return false;
  behind.watcher->failed(fmt::format("there is nothing after event {} yet", behind.after_seq));
  return true;
}

}  // namespace railweave::control
