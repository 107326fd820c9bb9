#include "services/control/event_catch_up.h"

#include <chrono>
#include <utility>

#include <fmt/core.h>

namespace railweave::control {
namespace {

constexpr std::size_t kRecordsAtOnce = 1000;
constexpr auto kPause = std::chrono::milliseconds(20);  // when every watcher is full

bool go_live(EventFeed& feed, std::uint64_t after_seq, const std::shared_ptr<EventWatcher>& watcher) {
  return feed.subscribe(after_seq, [watcher](const db::Record& record) { return watcher->deliver(record); })
      .has_value();
}

}  // namespace

EventCatchUp::EventCatchUp(db::Journal& journal, EventFeed& feed) : journal_(journal), feed_(feed) {
  worker_.start([this](Worker::Turn& turn) { run(turn); });
}

EventCatchUp::~EventCatchUp() { stop(); }

void EventCatchUp::stop() { worker_.stop(); }

void EventCatchUp::follow(std::uint64_t after_seq, std::shared_ptr<EventWatcher> watcher) {
  if (go_live(feed_, after_seq, watcher)) return;
  {
    const std::lock_guard lock(mutex_);
    behind_.push_back({after_seq, std::move(watcher)});
  }
  worker_.wake();
}

std::optional<EventCatchUp::Behind> EventCatchUp::take() {
  const std::lock_guard lock(mutex_);
  if (behind_.empty()) return std::nullopt;
  std::optional<Behind> next = std::move(behind_.front());
  behind_.pop_front();
  return next;
}

void EventCatchUp::run(Worker::Turn& turn) {
  std::size_t idle = 0;  // consecutive watchers that had no room
  while (!turn.is_to_end()) {
    std::optional<Behind> next = take();
    if (!next) {
      turn.rest();
      continue;
    }
    const bool full = !next->watcher->closed() && !next->watcher->ready();
    const bool done = !full && step(*next);
    idle = full ? idle + 1 : 0;
    std::size_t left = 0;
    {
      const std::lock_guard lock(mutex_);
      if (!done) behind_.push_back(std::move(*next));
      left = behind_.size();
    }
    if (full && idle >= left) {
      turn.pause(kPause);
      idle = 0;
    }
  }
}

bool EventCatchUp::step(Behind& behind) {
  if (behind.watcher->closed()) return true;
  auto records = journal_.read({.after_seq = behind.after_seq,
                                .limit = kRecordsAtOnce,
                                .kinds = {},
                                .subject_kind = {},
                                .subject_id = {},
                                .with_damaged = true});
  if (!records) {
    behind.watcher->failed("the journal cannot be read: " + records.error().text());
    return true;
  }
  if (behind.after_seq != 0 && !records->empty() && records->front().seq != behind.after_seq + 1) {
    behind.watcher->failed(fmt::format("the events after {} are not kept any more: the oldest is {}", behind.after_seq,
                                       records->front().seq));
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
