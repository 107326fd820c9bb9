#include "api/http/connection/io_thread.h"

#include <algorithm>
#include <ctime>

#include "api/http/connection/connection.h"
#include "api/http/message/response_head.h"

namespace railweave::api {
namespace {

constexpr std::chrono::milliseconds kSweepWhileStopping{10};

}  // namespace

IoThread::IoThread(Clock::duration sweep_interval)
    : sweep_interval_(sweep_interval), sweep_timer_(context.get_executor()) {}

IoThread::~IoThread() { join(); }

void IoThread::start() {
  asio::co_spawn(context, sweep(), asio::detached);  // also what keeps the loop alive
  thread_ = std::thread([this] { context.run(); });
}

void IoThread::stop(Clock::time_point deadline) {
  asio::post(context, [this, deadline] {
    stopping_ = true;
    stop_deadline_ = deadline;
    for (const std::shared_ptr<Connection>& connection : connections_) connection->begin_stop();
    sweep_timer_.cancel();
  });
}

void IoThread::join() {
  if (thread_.joinable()) thread_.join();
}

const std::string& IoThread::date() {
  const std::int64_t now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    date_ = http_date(now);
  }
  return date_;
}

Task<void> IoThread::sweep() {
  // What a connection does when told of its deadline runs later, from the loop, so the set does not change meanwhile.
  while (!stopping_ || !connections_.empty()) {
    const Clock::time_point now = Clock::now();
    for (const std::shared_ptr<Connection>& connection : connections_) {
      if (stopping_ && now >= stop_deadline_) {
        connection->abort();
      } else {
        connection->check_deadline(now);
      }
    }
    sweep_timer_.expires_after(stopping_ ? kSweepWhileStopping : sweep_interval_);
    ErrorCode ignored;
    co_await sweep_timer_.async_wait(into(ignored));
  }
}

}  // namespace railweave::api
