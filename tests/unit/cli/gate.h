// For canned answers that a test lets go when it is ready.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace railweave::cli {

// Holds answers back until the test opens it, at most for a minute.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait_for(lock, std::chrono::minutes(1), [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;  // guarded by mutex_
};

}  // namespace railweave::cli
