#include "db/postgres/watchdog.h"

#include <sys/socket.h>

namespace railweave::db::postgres {

Watchdog::Watchdog() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void Watchdog::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!deadline_) {
      changed_.wait(lock, stop, [&] { return deadline_.has_value(); });
      continue;
    }
    const Clock::time_point deadline = *deadline_;
    changed_.wait_until(lock, stop, deadline, [&] { return deadline_ != deadline; });
    if (deadline_ != deadline || Clock::now() < deadline) continue;
    ::shutdown(socket_, SHUT_RDWR);
    deadline_.reset();
  }
}

Watchdog::Guard::Guard(Watchdog& watchdog, int socket, std::chrono::milliseconds patience) : watchdog_(watchdog) {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.socket_ = socket;
  watchdog_.deadline_ = Clock::now() + patience;
  watchdog_.changed_.notify_one();
}

Watchdog::Guard::~Guard() {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.deadline_.reset();
  watchdog_.changed_.notify_one();
}

}  // namespace railweave::db::postgres
