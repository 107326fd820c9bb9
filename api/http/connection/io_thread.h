// Private to this folder: one event loop, its thread, and the connections that live on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "api/http/connection/asio.h"
#include "api/http/dispatch/metrics_shard.h"

namespace railweave::api {

class Connection;

// `context`, `metrics`, start(), stop() and join() may be used from any thread, the rest from the loop's own.
class IoThread {
 public:
  // Deadlines are checked every `sweep_interval`.
  explicit IoThread(Clock::duration sweep_interval);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  void start();
  // Tells every connection to end, and aborts those that are still open at the deadline.
  void stop(Clock::time_point deadline);
  void join();

  // Keeps it alive until it is removed.
  void add(std::shared_ptr<Connection> connection) { connections_.insert(std::move(connection)); }
  void remove(const std::shared_ptr<Connection>& connection) { connections_.erase(connection); }
  // The current time as the Date header has it, formatted once a second.
  [[nodiscard]] const std::string& date();

  asio::io_context context{1};
  MetricsShard metrics;

 private:
  Task<void> sweep();

  const Clock::duration sweep_interval_;
  std::thread thread_;
  Timer sweep_timer_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool stopping_ = false;
  Clock::time_point stop_deadline_;
  std::string date_;
  std::int64_t date_second_ = -1;
};

}  // namespace railweave::api
