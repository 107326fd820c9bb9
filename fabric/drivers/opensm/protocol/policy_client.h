// The plugin's end of the policy protocol (protocol.md): keeps a connection to railweaved in a thread of its own,
// receives its policy, reports events. No call waits for the service: policy() is the last good one, kept in a file,
// and events wait in a bounded queue.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "fabric/base/backoff.h"
#include "fabric/drivers/opensm/local/kept_file_writer.h"
#include "fabric/drivers/opensm/local/unix_socket.h"
#include "fabric/drivers/opensm/protocol/policy_event.h"
#include "fabric/drivers/opensm/protocol/policy_reader.h"
#include "fabric/drivers/opensm/protocol/routing_policy.h"

namespace railweave::fabric::opensm {

using RoutingPolicyPtr = std::shared_ptr<const RoutingPolicy>;

struct PolicyClientOptions {
  std::string socket_path;
  std::string cache_path;  // file of the last good policy; empty: it is not kept
  std::chrono::milliseconds first_retry{100}, longest_retry{10'000};
  std::chrono::milliseconds deadline{10'000};  // for a document that was begun, and for an event to leave
  std::size_t max_queued_bytes = std::size_t{1} << 20U;
};

// Called on the client's thread, or, before start(), on the caller's. They must not block and not destroy the client.
struct PolicyClientHooks {
  // A good document came. It is not waited for that it is kept.
  enum class Difference : std::uint8_t {
    none,
    ports,
    routes
  };  // to the one before, beside its revision; routes: at least
  std::function<void(const RoutingPolicyPtr&, Difference)> received;
  std::function<void(const Error&)> problem;    // not repeated while it is the same; of its file, on another thread
  std::function<void(bool connected)> changed;  // the connection came or went
  std::function<void()> every_second{};         // while there is a connection, about
};

class PolicyClient {
 public:
  // Reads the last good policy from the file. A file that cannot be read is reported as a problem, and there is no
  // policy.
  PolicyClient(PolicyClientOptions options, PolicyClientHooks hooks);
  PolicyClient(const PolicyClient&) = delete;
  PolicyClient& operator=(const PolicyClient&) = delete;
  ~PolicyClient();

  // From then on it connects, as that subnet. Only the first call counts. Any thread.
  void start(Guid subnet);

  [[nodiscard]] RoutingPolicyPtr policy() const;  // never null. Any thread.
  void report(const PolicyEvent& event);          // any thread; while the queue is full, events are counted as lost

 private:
  using Clock = std::chrono::steady_clock;
  using Difference = PolicyClientHooks::Difference;

  void run();
  FileDescriptor connected();
  void talk(const FileDescriptor& socket);
  [[nodiscard]] bool read_from(const FileDescriptor& socket);
  void take(RoutingPolicy policy);
  void refuse(const Error& error);
  bool refill();
  void tell(const Error& error);
  void pause();
  [[nodiscard]] bool stopping() const;

  const PolicyClientOptions options_;
  const PolicyClientHooks hooks_;
  WakeUp wake_up_;

  mutable std::mutex mutex_;
  RoutingPolicyPtr policy_;  // guarded by mutex_, as all down to lost_
  bool stop_ = false;
  Guid subnet_;
  std::string queued_;  // whole lines
  std::uint64_t lost_ = 0;

  // Used by the thread alone.
  std::string outgoing_;  // being sent
  std::size_t sent_ = 0;  // of outgoing_
  PolicyReader reader_;
  Clock::time_point stuck_since_, begun_at_;
  bool good_ = false;  // this connection brought a document
  Backoff retry_;
  std::string last_problem_;

  KeptFileWriter file_;
  std::thread thread_;
};

}  // namespace railweave::fabric::opensm
