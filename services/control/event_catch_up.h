// Brings watchers of events that are behind up to the live feed: a thread of its own reads old events from the journal,
// no faster than each watcher accepts them. Used by the event stream of the API. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "db/journal.h"
#include "fabric/base/worker/worker.h"
#include "services/control/events/event_feed.h"

namespace railweave::control {

// A receiver of events. Called from the catch-up thread first, then from the publisher's, never from both at once. No
// call may block.
class EventWatcher {
 public:
  EventWatcher() = default;
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;
  virtual ~EventWatcher() = default;
  virtual bool deliver(const db::Record& record) = 0;  // false: stop delivering
  virtual bool ready() = 0;                            // has room for another thousand old events
  virtual bool closed() = 0;                           // needs no more events
  virtual void failed(const std::string& why) = 0;     // delivery ends with an error
};

class EventCatchUp {
 public:
  EventCatchUp(db::Journal& journal, EventFeed& feed);
  EventCatchUp(const EventCatchUp&) = delete;
  EventCatchUp& operator=(const EventCatchUp&) = delete;
  ~EventCatchUp();

  // Delivers every event after `after_seq` until the watcher stops it.
  void follow(std::uint64_t after_seq, std::shared_ptr<EventWatcher> watcher);
  void stop();

 private:
  struct Behind {
    std::uint64_t after_seq = 0;
    std::shared_ptr<EventWatcher> watcher;
  };

  void run(Worker::Turn& turn);
  std::optional<Behind> take();
  // True when the watcher needs no more steps: it is live, closed or failed.
  bool step(Behind& behind);

  db::Journal& journal_;
  EventFeed& feed_;
  std::mutex mutex_;
  std::deque<Behind> behind_;  // guarded by mutex_
  Worker worker_{"catch-up"};  // last: uses all of the above
};

}  // namespace railweave::control
