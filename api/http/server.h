// The HTTP/1.1 server: keep-alive and pipelining, limits on everything, gzip of requests and answers, server-sent
// events, graceful stop.
//
// Threads: each I/O thread has its own event loop, and each connection lives on one of them, so a handler that blocks
// stops its neighbours; handlers that compute are marked so and run on the pool. One request at a time per connection;
// what a client has sent beyond it waits, so answers go out in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "api/http/dispatch/metrics.h"
#include "api/http/dispatch/router.h"
#include "api/http/dispatch/server_options.h"
#include "fabric/base/error.h"

namespace railweave::api {

class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();  // stop() without grace
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // To be filled before start(). Handlers may refer to this server (for metrics()).
  [[nodiscard]] Router& router();

  // Once. Refuses addresses that are not loopback (http.notLoopback); http.cannotListen when the port is taken.
  Result<void> start();

  // The port listened on, after start().
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:7470"

  // Thread-safe.
  [[nodiscard]] HttpMetrics metrics() const;

  // As stop(), but waits for running computations for at most `for_computations` after that. False: one goes on, and
  // uses what its handler refers to; stop() waits for its end.
  [[nodiscard]] bool stop_within(std::chrono::milliseconds grace, std::chrono::milliseconds for_computations);

  // Stops accepting, ends idle connections and event streams, lets requests finish for at most `grace`, closes the
  // rest, and waits until its threads have ended (for running computations too). Not from a handler. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace railweave::api
