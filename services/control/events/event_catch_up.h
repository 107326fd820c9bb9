// Brings watchers who are behind up to the live feed: reads old events from the journal on a thread of its own, no
// faster than the watcher takes them. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "db/journal.h"
#include "services/control/events/event_feed.h"

namespace railweave::control {

// Who watches. Called from the catch-up thread first, then from the publisher's, never from both at once.
class EventWatcher {
 public:
  EventWatcher() = default;
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;
  virtual ~EventWatcher() = default;
  virtual bool take(const db::Record& record) = 0;  // false: no more, please. Must not block.
  virtual bool ready() = 0;                         // room for another thousand old events now
  virtual bool gone() = 0;
  virtual void failed(const std::string& why) = 0;
};

class EventCatchUp {
 public:
  EventCatchUp(db::Journal& journal, EventFeed& feed);
  EventCatchUp(const EventCatchUp&) = delete;
  EventCatchUp& operator=(const EventCatchUp&) = delete;
  ~EventCatchUp();

  // Everything after `after_seq`, for as long as the watcher takes it.
  void follow(std::uint64_t after_seq, std::shared_ptr<EventWatcher> watcher);
  void stop();

 private:
  struct Behind {
    std::uint64_t after_seq = 0;
    std::shared_ptr<EventWatcher> watcher;
  };

  void run();
  // True when it needs no more steps: live, gone or failed.
  bool step(Behind& behind);

  db::Journal& journal_;
  EventFeed& feed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Behind> behind_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace railweave::control
