// Live events for those who watch. Keeps the newest ones, so that a watcher who reconnects misses none; older ones are
// read from the journal. Thread-safe.
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

  // Called in order of seq, one record at a time, on the publisher's thread; must not block. false ends the
  // subscription.
  using Watcher = std::function<bool(const db::Record&)>;
  using SubscriptionId = std::uint64_t;

  void publish(const std::vector<db::Record>& records);

  // Delivers what is kept after `after_seq` at once, then everything that comes. None: the feed no longer keeps the
  // record after `after_seq`; read the journal up to newer ones first. Ids start at 1; 0: the watcher ended it at once.
  std::optional<SubscriptionId> subscribe(std::uint64_t after_seq, Watcher watcher);
  void unsubscribe(SubscriptionId id);

  // Where a feed starts when the journal already holds records.
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
