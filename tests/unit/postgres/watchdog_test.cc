// A call without an answer is ended at its deadline, whichever deadlines there were before; others are left alone.
#include "db/postgres/watchdog.h"

#include <array>
#include <chrono>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railweave::db::postgres::watchdog_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Sockets {
 public:
  Sockets() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
  ~Sockets() {
    for (const int end : ends_) ::close(end);
  }
  [[nodiscard]] int watched() const { return ends_[0]; }
  [[nodiscard]] bool ends_within(std::chrono::milliseconds time) const {
    pollfd peer{ends_[1], POLLIN, 0};
    return ::poll(&peer, 1, static_cast<int>(time.count())) == 1;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(Watchdog, EndsACallAtItsDeadline) {
  Watchdog watchdog;
  const Sockets sockets;
  const auto begun = Clock::now();
  const Watchdog::Guard guard(watchdog, sockets.watched(), 50ms);
  EXPECT_TRUE(sockets.ends_within(10s));
  EXPECT_GE(Clock::now() - begun, 50ms);
}

TEST(Watchdog, AShorterDeadlineAfterALongerOneIsKept) {
  Watchdog watchdog;
  const Sockets sockets;
  {
    const Watchdog::Guard answered(watchdog, sockets.watched(), 1h);
  }
  const Watchdog::Guard guard(watchdog, sockets.watched(), 50ms);
  EXPECT_TRUE(sockets.ends_within(10s));
}

TEST(Watchdog, ACallThatWasAnsweredIsNotEndedNorTheNextOneEarly) {
  Watchdog watchdog;
  const Sockets sockets;
  for (int i = 0; i < 100; ++i) const Watchdog::Guard answered(watchdog, sockets.watched(), 500ms);
  const Watchdog::Guard later(watchdog, sockets.watched(), 1h);
  EXPECT_FALSE(sockets.ends_within(800ms));
}

TEST(Watchdog, EndsACallAfterMany) {
  Watchdog watchdog;
  const Sockets sockets;
  const auto begun = Clock::now();
  while (Clock::now() - begun < 150ms) const Watchdog::Guard answered(watchdog, sockets.watched(), 60ms);
  const Watchdog::Guard guard(watchdog, sockets.watched(), 60ms);
  EXPECT_TRUE(sockets.ends_within(10s));
}

}  // namespace
}  // namespace railweave::db::postgres::watchdog_test
