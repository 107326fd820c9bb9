#include "api/http/dispatch/metrics.h"

#include <algorithm>

#include "api/http/message/prometheus_text.h"

namespace railweave::api {

void LatencyHistogram::add(double seconds) {
  const auto bucket = std::lower_bound(kLatencyBounds_s.begin(), kLatencyBounds_s.end(), seconds);
  ++counts[static_cast<std::size_t>(bucket - kLatencyBounds_s.begin())];
  sum_s += seconds;
}

void LatencyHistogram::add(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  sum_s += other.sum_s;
}

void HttpMetrics::add(const HttpMetrics& other) {
  for (const auto& [key, count] : other.requests) requests[key] += count;
  for (const auto& [key, histogram] : other.latency) latency[key].add(histogram);
  for (const auto& [phase, count] : other.timeouts) timeouts[phase] += count;
  for (const auto& [reason, count] : other.refused_connections) refused_connections[reason] += count;
  accepted_connections += other.accepted_connections;
  malformed_requests += other.malformed_requests;
  received_bytes += other.received_bytes;
  sent_bytes += other.sent_bytes;
  abandoned += other.abandoned;
  streams_cut += other.streams_cut;
  open_connections += other.open_connections;
  requests_in_flight += other.requests_in_flight;
  open_streams += other.open_streams;
  compute_queued += other.compute_queued;
  compute_running += other.compute_running;
}

void render(const HttpMetrics& metrics, PrometheusText& text) {
  using enum PrometheusText::Type;
  text.family("railweave_http_requests_total", counter, "Requests answered, by route pattern, method and status.");
  for (const auto& [key, count] : metrics.requests) {
    const auto& [route, method, status] = key;
    text.sample({{"route", route}, {"method", to_string(method)}, {"status", std::to_string(status)}}, count);
  }
  text.family("railweave_http_request_duration_seconds", histogram,
              "From the end of a request's head to its answer having been sent; event streams left out.");
  for (const auto& [key, latency] : metrics.latency) {
    const auto& [route, method] = key;
    text.histogram({{"route", route}, {"method", to_string(method)}}, kLatencyBounds_s, latency.counts, latency.sum_s);
  }
  text.family("railweave_http_timeouts_total", counter, "Requests that took too long, by phase.");
  for (const auto& [phase, count] : metrics.timeouts) text.sample({{"phase", phase}}, count);
  text.family("railweave_http_connections_refused_total", counter, "Connections turned away, by the limit they met.");
  for (const auto& [reason, count] : metrics.refused_connections) text.sample({{"reason", reason}}, count);
  text.single("railweave_http_connections_accepted_total", counter, "Connections accepted.",
              metrics.accepted_connections);
  text.single("railweave_http_malformed_requests_total", counter, "Requests that were not well-formed HTTP.",
              metrics.malformed_requests);
  text.single("railweave_http_received_bytes_total", counter, "Bytes received.", metrics.received_bytes);
  text.single("railweave_http_sent_bytes_total", counter, "Bytes sent.", metrics.sent_bytes);
  text.single("railweave_http_abandoned_total", counter, "Requests whose client left while the answer was computed.",
              metrics.abandoned);
  text.single("railweave_http_streams_cut_total", counter, "Event streams cut off because the client was too slow.",
              metrics.streams_cut);
  text.single("railweave_http_connections", gauge, "Open connections.", metrics.open_connections);
  text.single("railweave_http_requests_in_flight", gauge, "Requests being worked on.", metrics.requests_in_flight);
  text.single("railweave_http_streams", gauge, "Open event streams.", metrics.open_streams);
  text.single("railweave_http_compute_queued", gauge, "Computations waiting for a worker.", metrics.compute_queued);
  text.single("railweave_http_compute_running", gauge, "Computations being worked on.", metrics.compute_running);
}

}  // namespace railweave::api
