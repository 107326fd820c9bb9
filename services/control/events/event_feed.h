// Delivers new events to subscribers. Keeps the newest ones, so that a client that reconnects misses none; older events
// are read from the journal (event_catch_up.h). Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "db/journal.h"

namespace railweave::control {

class EventFeed {
 public:
  static constexpr std::size_t kKept = 4096;

  // Called in order of seq, one record at a time, on the publisher's thread; must not block. Returning false ends the
  // subscription.
  using Watcher = std::function<bool(const db::Record&)>;
  using SubscriptionId = std::uint64_t;

  void publish(const std::vector<db::Record>& records);

  // Delivers the kept records after `after_seq` at once, then every new one. None: the feed no longer keeps the record
  // after `after_seq`; read the journal up to newer ones first. Ids start at 1; 0: the watcher ended the subscription
  // at once.
  std::optional<SubscriptionId> subscribe(std::uint64_t after_seq, Watcher watcher);
  void unsubscribe(SubscriptionId id);

  // Sets the position of the feed when the journal already holds records.
  void start_at(std::uint64_t last_seq);
  [[nodiscard]] std::size_t watchers() const;

 private:
  mutable std::mutex mutex_;
  std::deque<db::Record> kept_;
  std::uint64_t last_seq_ = 0;
  std::uint64_t next_id_ = 1;
  std::map<SubscriptionId, Watcher> watchers_;
};

}  // namespace railweave::control
