// A thread of its own for what goes on beside all else: named, so that tools show whose it is, woken when there is something to do,
// and ended by its owner. The owner's members that it uses come before the Worker, which ends first.
//
//   Worker worker_{"scrub"};
//   worker_.start([this](Worker::Turn& turn) {
//     do {
//       read_all(turn);
//     } while (turn.rest(std::chrono::hours(24)));  // false: it is to end
//   });
//
// start() and stop() are called by one thread; wake() and Turn's functions are thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace railweave {

class Worker {
 public:
  // What the thread asks of its owner.
  class Turn {
   public:
    explicit Turn(Worker& worker) : worker_(worker) {}
    [[nodiscard]] bool is_to_end() const;
    // Until wake(), which is then used up, or for at most `time`; none: until wake(). False: it is to end.
    bool rest(std::optional<std::chrono::microseconds> time = std::nullopt) { return worker_.wait(time, true); }
    // For that time, whoever calls wake(): the next rest() sees it. False: it is to end.
    bool pause(std::chrono::microseconds time) { return worker_.wait(time, false); }

   private:
    Worker& worker_;
  };

  explicit Worker(std::string name) : name_(std::move(name)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { stop(); }

  // The thread ends when `work` returns.
  void start(std::function<void(Turn&)> work);
  void wake();
  // Waits until it has ended. May be called twice, and without start().
  void stop();
  // Without waiting, for owners of many.
  void ask_to_end();

 private:
  bool wait(std::optional<std::chrono::microseconds> time, bool wakes);

  const std::string name_;
  mutable std::mutex mutex_;  // guards the next two
  bool ending_ = false, woken_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace railweave
