// What can be set about the server: sizes, times and hooks. Every limit is a bound on what one caller, or all together,
// can make the process hold.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/dispatch/fair_slots.h"
#include "api/http/message/headers.h"
#include "api/http/message/method.h"
#include "api/http/message/peer.h"
#include "api/http/message/problem.h"

namespace railweave::api {

struct Caller;

// One answered request. `route` is the pattern, "unmatched" when there is none.
struct AccessRecord {
  std::string_view request_id;
  std::string_view remote_address;
  Method method = Method::other;
  std::string_view path;  // as sent, without the query; empty when the request could not be read
  std::string_view route;
  int status = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::int64_t duration_us = 0;
  bool is_timed = true;            // false: a stream, which is as long as its client wants
  const Caller* caller = nullptr;  // who was let in; null: no caller, or no token is asked for
};

struct ServerOptions {
  using Milliseconds = std::chrono::milliseconds;

  // Without TLS and authentication loopback only ("127.0.0.1", "::1", "localhost"); anything else is refused.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: a free one
  // Further names by which callers may address the server (Host, Origin). Loopback names always may; any other is
  // refused, so that a web page cannot reach the server through a name of its own (DNS rebinding).
  std::vector<std::string> allowed_hosts;
  std::string server_name = "railweaved";
  // Of the server, in PEM; both or neither. Read again when they change.
  std::string tls_certificate, tls_key;
  // Clients may show a certificate of these authorities (PEM), with which they are known by its names; "": none is asked for.
  std::string tls_client_ca;
  // Listens at this Unix socket too; "": at none. Anyone may connect: who it is follows from the credentials of the process.
  std::string socket;

  std::size_t io_threads = 2;
  std::size_t compute_threads = 2;
  std::size_t compute_queue = 256;
  std::function<void()> prepare_compute_thread;  // runs on each before the server accepts connections

  std::size_t max_connections = 1024;
  std::size_t max_connections_per_address = 0;  // 0: no such limit
  std::size_t max_header_bytes = 16384;         // request line, and fields, each
  std::size_t max_header_count = 100;
  std::size_t max_target_bytes = 8192;
  std::size_t body_limit_bytes = std::size_t{1} << 20U;        // unless the route has its own
  std::size_t bodies_in_flight_bytes = std::size_t{1} << 30U;  // all together

  Milliseconds idle_timeout{75'000};    // between requests
  Milliseconds header_timeout{10'000};  // from the first byte to the end of the head
  Milliseconds body_timeout{30'000};    // and a second more for every min_body_rate bytes
  std::size_t min_body_rate_bytes_per_s = 131072;
  Milliseconds answer_timeout{120'000};  // for the handler
  Milliseconds write_timeout{30'000};    // without 256 KiB of progress

  std::size_t gzip_min_bytes = 4096;
  std::size_t gzip_inline_max_bytes = 65536;  // larger bodies are compressed on the compute pool
  int gzip_level = 1;

  std::size_t max_streams = 256;
  std::size_t max_piecewise = 64;  // bodies sent piece by piece at once: each holds a piece
  std::size_t stream_backlog_bytes = std::size_t{1} << 20U;
  Milliseconds stream_heartbeat{15'000};

  // Who sends a request, by its head alone, or the problem that refuses it. Asked before the body is read, for every route
  // that is not anonymous; unset: no request is asked who it is from. Called on I/O threads; must not block.
  std::function<std::expected<std::shared_ptr<const Caller>, Problem>(const Headers&, const Peer&)> authenticate;

  // Whose share of what all callers share a caller uses, null: one that is not known; unset: there are no shares.
  std::function<SlotOwner(const Caller*)> slot_owner;
  // The address of the client, where the other end of the connection is known to speak for others; unset: it is the other end's.
  std::function<std::string(const Peer&, const Headers&)> client_address;

  // Called on I/O threads; must not block.
  std::function<void(const AccessRecord&)> access_log;
  std::function<void(std::string_view)> error_log;
};

}  // namespace railweave::api
