#include "db/postgres/watchdog.h"

#include <sys/socket.h>

namespace railweave::db::postgres {

Watchdog::Watchdog() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void Watchdog::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (deadline_ && *deadline_ <= Clock::now()) {
      ::shutdown(socket_, SHUT_RDWR);
      deadline_.reset();
    }
    const auto earlier = [&] { return deadline_ && *deadline_ < wakes_; };
    if (deadline_) {
      wakes_ = *deadline_;
      changed_.wait_until(lock, stop, wakes_, earlier);
    } else {
      wakes_ = Clock::time_point::max();
      changed_.wait(lock, stop, earlier);
    }
  }
}

Watchdog::Guard::Guard(Watchdog& watchdog, int socket, std::chrono::milliseconds patience) : watchdog_(watchdog) {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.socket_ = socket;
  watchdog_.deadline_ = Clock::now() + patience;
  if (*watchdog_.deadline_ < watchdog_.wakes_) watchdog_.changed_.notify_one();
}

Watchdog::Guard::~Guard() {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.deadline_.reset();
}

}  // namespace railweave::db::postgres
