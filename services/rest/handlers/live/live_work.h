// Long work about live subnets, each an operation: reading tables back, discovering, and accepting what was found. The
// live fabric calls back on a thread of its own, which must not be blocked, so accepting runs on one thread here.
//
// Thread-safe. Owned by the handlers of the live routes; callbacks after its destruction do nothing.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/operations/operations.h"
#include "fabric/base/worker/worker.h"
#include "services/rest/control_plane.h"
#include "services/rest/json/live/subnet.h"

namespace railweave::api {

class LiveWork : public std::enable_shared_from_this<LiveWork> {
 public:
  static constexpr std::size_t kMaxWaiting = 16;  // discoveries to be accepted

  LiveWork(const ControlPlane& plane, Operations& operations);
  LiveWork(const LiveWork&) = delete;
  LiveWork& operator=(const LiveWork&) = delete;
  ~LiveWork() = default;

  // The operation's id. The subnets must have connections, else the operation fails.
  std::string sync(const std::vector<std::string>& subnets);
  std::string discover(DiscoverRequest request, std::string actor, control::RequestOrigin origin);

 private:
  struct Acceptance {
    std::string operation, actor;
    control::RequestOrigin origin;
    DiscoverRequest request;
    control::SubnetStatusPtr status;
  };
  void discovered(Acceptance found);
  void accept(const Acceptance& found);
  void run(Worker::Turn& turn);

  const ControlPlane& plane_;
  Operations& operations_;
  std::mutex mutex_;
  std::deque<Acceptance> waiting_;  // guarded by mutex_, bounded by kMaxWaiting
  Worker worker_{"discovery"};      // last: uses all of the above
};

}  // namespace railweave::api
