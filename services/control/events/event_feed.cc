#include "services/control/events/event_feed.h"

#include <utility>

namespace railweave::control {

void EventFeed::start_at(std::uint64_t last_seq) {
  const std::lock_guard lock(mutex_);
  last_seq_ = last_seq;
  kept_.clear();
}

void EventFeed::publish(const std::vector<db::Record>& records) {
  const std::lock_guard lock(mutex_);
  for (const auto& record : records) {
    kept_.push_back(record);
    if (kept_.size() > kKept) kept_.pop_front();
    last_seq_ = record.seq;
    std::erase_if(watchers_, [&](const auto& entry) { return !entry.second(record); });
  }
}

std::optional<EventFeed::SubscriptionId> EventFeed::subscribe(std::uint64_t after_seq, Watcher watcher) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest_kept = kept_.empty() ? last_seq_ + 1 : kept_.front().seq;
  if (after_seq + 1 < oldest_kept) return std::nullopt;
  for (const auto& record : kept_) {
    if (record.seq > after_seq && !watcher(record)) return 0;
  }
  const SubscriptionId id = next_id_++;
  watchers_.emplace(id, std::move(watcher));
  return id;
}

void EventFeed::unsubscribe(SubscriptionId id) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(id);
}

std::size_t EventFeed::watchers() const {
  const std::lock_guard lock(mutex_);
  return watchers_.size();
}

}  // namespace railweave::control
