// Sends a request on to the replica that leads, as its caller sent it, and answers with the leader's answer. Of callers that
// are known by their connection to this replica it says who they are, where it can show that it is one. Threads of its own
// wait for the leader. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/client/client.h"
#include "api/http/dispatch/compute_pool.h"
#include "api/http/dispatch/responder.h"

namespace railweave::api {

struct ForwarderOptions {
  std::string name;                        // of this replica, as the leader is told
  std::string ca_file;                     // certificates that are trusted for https, in PEM; "": those of the system
  std::string certificate_file, key_file;  // of this replica, shown to the leader, in PEM; "": it has none
  std::size_t threads = 16;
  std::size_t max_waiting = 256;               // requests; further ones are answered 429
  std::chrono::milliseconds timeout{120'000};  // for one answer
  // Whether the replica at this URL leads, as far as is known here; unset: it does.
  std::function<bool(const std::string& url)> leads;
};

class Forwarder {
 public:
  explicit Forwarder(ForwarderOptions options);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // url: of the leader; "": none is known. A request that was sent on once is not sent on again.
  void forward(const std::string& url, const Responder& respond);
  void stop();

 private:
  using Connection = std::unique_ptr<Client>;
  void answer(const std::string& url, const Responder& respond);
  Connection take(const std::string& url);
  void give_back(const std::string& url, Connection connection);

  struct Idle {
    Connection connection;
    std::chrono::steady_clock::time_point since;
  };

  const ForwarderOptions options_;
  std::mutex mutex_;  // guards the next two
  std::string url_;
  std::vector<Idle> idle_;  // to url_, the last used at the end
  ComputePool pool_;
};

}  // namespace railweave::api
