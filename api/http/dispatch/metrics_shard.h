// Private to this folder: one I/O thread's counters, summed up when metrics are read.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "api/http/dispatch/metrics.h"

namespace railweave::api {

// Thread-safe; the lock is contended only while a snapshot is taken.
class MetricsShard {
 public:
  // `route` lives as long as the router; nullptr for paths without a route.
  void count_request(const std::string* route, Method method, int status, std::optional<double> seconds) {
    const std::lock_guard lock(mutex_);
    Series& series = series_[{route, method, status}];
    ++series.count;
    if (seconds) series.latency.add(*seconds);
  }
  void count_bytes(std::uint64_t received, std::uint64_t sent) {
    const std::lock_guard lock(mutex_);
    rest_.received_bytes += received;
    rest_.sent_bytes += sent;
  }
  void count_timeout(const char* phase) {
    const std::lock_guard lock(mutex_);
    ++rest_.timeouts[phase];
  }
  void count_refused_connection(const char* reason) {
    const std::lock_guard lock(mutex_);
    ++rest_.refused_connections[reason];
  }
  void count_accepted() {
    const std::lock_guard lock(mutex_);
    ++rest_.accepted_connections;
  }
  void count_malformed() {
    const std::lock_guard lock(mutex_);
    ++rest_.malformed_requests;
  }
  void count_abandoned() {
    const std::lock_guard lock(mutex_);
    ++rest_.abandoned;
  }
  void count_stream_cut() {
    const std::lock_guard lock(mutex_);
    ++rest_.streams_cut;
  }

  [[nodiscard]] HttpMetrics snapshot() const {
    const std::lock_guard lock(mutex_);
    HttpMetrics metrics = rest_;
    for (const auto& [key, series] : series_) {
      const auto& [route, method, status] = key;
      const std::string name = route == nullptr ? "unmatched" : *route;
      metrics.requests[{name, method, status}] += series.count;
      metrics.latency[{name, method}].add(series.latency);
    }
    return metrics;
  }

 private:
  struct Series {
    std::uint64_t count = 0;
    LatencyHistogram latency;
  };
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<std::tuple<const std::string*, Method, int>, Series> series_;
  HttpMetrics rest_;  // without requests and latency
};

}  // namespace railweave::api
