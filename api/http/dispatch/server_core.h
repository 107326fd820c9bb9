// Private to this folder: what all connections of a server share. Outlives them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "api/http/dispatch/body_budget.h"
#include "api/http/dispatch/compute_pool.h"
#include "api/http/dispatch/connection_slots.h"
#include "api/http/dispatch/fair_slots.h"
#include "api/http/dispatch/router.h"
#include "api/http/dispatch/server_options.h"

namespace boost::asio::ssl {
class context;
}

namespace railweave::api {

struct ServerCore {
  explicit ServerCore(ServerOptions chosen)
      : options(std::move(chosen)),
        pool(options.compute_queue),
        budget(std::make_shared<BodyBudget>(options.bodies_in_flight_bytes)),
        slots(options.max_connections, options.max_connections_per_address),
        streams(options.max_streams),
        piecewise(options.max_piecewise) {}

  void log_error(std::string_view text) const {
    if (options.error_log) options.error_log(text);
  }

  const ServerOptions options;
  Router router;                                                    // constant once the server runs
  std::function<std::shared_ptr<boost::asio::ssl::context>()> tls;  // of a new connection; unset: without TLS
  ComputePool pool;
  const std::shared_ptr<BodyBudget> budget;
  ConnectionSlots slots;
  FairSlots streams;
  FairSlots piecewise;                   // bodies being sent piece by piece
  std::atomic<bool> stopping{false};     // set before any connection is told to end: none begins another request
  std::atomic<std::size_t> refusing{0};  // connections that are only answered that there are too many
  std::atomic<std::size_t> in_flight{0};
  std::atomic<std::uint64_t> next_request{1};
  std::uint32_t request_id_prefix = 0;  // differs from one start to the next
};

// Counts itself in a gauge while it lives.
class CountedIn {
 public:
  explicit CountedIn(std::atomic<std::size_t>& gauge) : gauge_(gauge) { ++gauge_; }
  ~CountedIn() { --gauge_; }
  CountedIn(const CountedIn&) = delete;
  CountedIn& operator=(const CountedIn&) = delete;

 private:
  std::atomic<std::size_t>& gauge_;
};

}  // namespace railweave::api
