// The time of day that never goes back: events are stamped with it, and durations are what it counts between two events.
// Where the system's clock is set back it goes on at half the steady clock's pace until the system's clock has caught up:
// what lasts stays longer than nothing and deadlines come, at most twice as late. Thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace railweave::control {

class EventClock {
 public:
  using Source = std::function<std::int64_t()>;

  EventClock(Source wall_us, Source steady_us) : wall_us_(std::move(wall_us)), steady_us_(std::move(steady_us)) {}

  std::int64_t now_us() {
    const std::lock_guard lock(mutex_);
    const std::int64_t wall_us = wall_us_(), steady_us = steady_us_();
    const std::int64_t half = std::max<std::int64_t>(0, steady_us - read_us_) / 2;
    if (wall_us >= last_us_ + half) {
      last_us_ = wall_us;
      read_us_ = steady_us;
    } else {
      last_us_ += half;
      read_us_ += 2 * half;  // what is odd counts the next time
    }
    return last_us_;
  }

  // Of an event that another process stamped.
  void not_before(std::int64_t time_us) {
    const std::lock_guard lock(mutex_);
    if (time_us <= last_us_) return;
    last_us_ = time_us;
    read_us_ = steady_us_();
  }

 private:
  const Source wall_us_, steady_us_;
  std::mutex mutex_;
  std::int64_t last_us_ = 0;
  std::int64_t read_us_ = 0;  // the steady clock at last_us_
};

}  // namespace railweave::control
