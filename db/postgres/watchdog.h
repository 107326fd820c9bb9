// Ends a connection whose server does not answer in time: a stopped server, or a synchronous standby that is gone, would
// keep a call waiting for ever, and statement_timeout cannot help there. The call then ends as if the connection was lost.
//
// Its thread sleeps through the calls of a busy session: it wakes at the first deadline that it was told, looks at the present
// one and sleeps on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace railweave::db::postgres {

class Watchdog {
 public:
  Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Until it is destroyed, the socket is watched; one at a time.
  class Guard {
   public:
    Guard(Watchdog& watchdog, int socket, std::chrono::milliseconds patience);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard();

   private:
    Watchdog& watchdog_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  void watch(const std::stop_token& stop);

  std::mutex mutex_;                           // guards the next three
  std::optional<Clock::time_point> deadline_;  // of the guard that there is
  Clock::time_point wakes_ = Clock::time_point::max();
  int socket_ = -1;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace railweave::db::postgres
