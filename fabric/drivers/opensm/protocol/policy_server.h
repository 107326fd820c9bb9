// railweaved's end of the policy protocol (protocol.md): listens on a local socket in a thread of its own, sends every
// OpenSM plugin that connects the current policy, and again whenever it changes, and hands on what they report.
// A slow plugin delays no other: it skips to the newest policy, and is disconnected if it does not read in time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fabric/drivers/opensm/local/unix_socket.h"
#include "fabric/drivers/opensm/protocol/policy_event.h"
#include "fabric/drivers/opensm/protocol/protocol_line.h"
#include "fabric/drivers/opensm/protocol/routing_policy.h"

namespace railweave::fabric::opensm {

struct PolicyServerOptions {
  std::string socket_path;
  std::size_t max_clients = 8;                 // a master, standbys, and some to spare
  std::chrono::milliseconds deadline{10'000};  // for the greeting, and for a document to be read
};

// Called on the server's thread; they must not block and not destroy the server.
struct PolicyServerHooks {
  std::function<void(Guid subnet, const PolicyEvent&)> event;
  std::function<void(Guid subnet, bool connected)> changed;
  std::function<void(const Error&)> problem;  // a client that was refused or sent what the protocol does not allow
};

class PolicyServer {
 public:
  // Listens when it returns. Clients get no document before the first publish().
  static Result<std::unique_ptr<PolicyServer>> start(PolicyServerOptions options, PolicyServerHooks hooks);
  PolicyServer(const PolicyServer&) = delete;
  PolicyServer& operator=(const PolicyServer&) = delete;
  ~PolicyServer();  // removes the socket file

  // To all clients, and to those that come later. Errors: those of canonical(). Any thread; does not wait.
  Result<void> publish(RoutingPolicy policy);

 private:
  using Clock = std::chrono::steady_clock;
  struct Client;

  PolicyServer(PolicyServerOptions options, PolicyServerHooks hooks, FileDescriptor listener);
  void run();
  void accept_clients();
  [[nodiscard]] bool serve(Client& client, short ready);
  [[nodiscard]] bool read_from(Client& client);
  [[nodiscard]] bool take_line(Client& client, std::string_view line, bool whole);
  [[nodiscard]] bool write_to(Client& client);
  void drop(Client& client, const std::string& why);

  const PolicyServerOptions options_;
  const PolicyServerHooks hooks_;
  FileDescriptor listener_;
  WakeUp wake_up_;

  std::mutex mutex_;
  std::shared_ptr<const std::string> document_;  // guarded by mutex_; null before the first
  bool stop_ = false;                            // guarded by mutex_

  std::vector<std::unique_ptr<Client>> clients_;  // of the thread
  std::shared_ptr<const std::string> newest_;     // of the thread
  std::thread thread_;
};

}  // namespace railweave::fabric::opensm
