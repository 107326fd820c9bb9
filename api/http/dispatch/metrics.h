// What the server counts about itself, as a snapshot, and how it reads at /metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "api/http/message/method.h"

namespace railweave::api {

class PrometheusText;

// Upper bounds in seconds; one more bucket is above the last.
inline constexpr std::array<double, 15> kLatencyBounds_s = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                            0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};

struct LatencyHistogram {
  std::array<std::uint64_t, kLatencyBounds_s.size() + 1> counts{};
  double sum_s = 0;
  void add(double seconds);
  void add(const LatencyHistogram& other);
};

// The route is its pattern, never a path, so the number of series is bounded; "unmatched" for paths without one.
struct HttpMetrics {
  std::map<std::tuple<std::string, Method, int>, std::uint64_t> requests;  // by route, method, status
  std::map<std::tuple<std::string, Method>, LatencyHistogram> latency;     // by route, method; streams left out
  std::map<std::string, std::uint64_t> timeouts;                           // by phase: header, body, answer, write
  std::map<std::string, std::uint64_t> refused_connections;                // by reason: limit, address
  std::uint64_t accepted_connections = 0;
  std::uint64_t malformed_requests = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t abandoned = 0;    // requests whose client left while the answer was computed
  std::uint64_t streams_cut = 0;  // too slow for what was sent
  // At the moment of the snapshot:
  std::uint64_t open_connections = 0;
  std::uint64_t requests_in_flight = 0;
  std::uint64_t open_streams = 0;
  std::uint64_t compute_queued = 0;
  std::uint64_t compute_running = 0;

  void add(const HttpMetrics& other);
};

// Appends the railweave_http_* families.
void render(const HttpMetrics& metrics, PrometheusText& text);

}  // namespace railweave::api
