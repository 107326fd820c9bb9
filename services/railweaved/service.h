// Constructs every part of railweaved and connects them; started in the order of the members, stopped in reverse.
//
//   HTTP request -> rest handlers -> [queue: commands, bounded] -> ControlLoop -> journal (SQLite)
//                        ^                                            |
//                        ^---------- published ClusterState ----------'-> [kept events] EventFeed -> event streams
//                        |                    |                       ^
//                        '-- SubnetStatus -- LiveSubnets -- reports --'
//                                              '-> one thread per subnet: FabricDriver -> switches
//   EventFeed -> Deliveries -> one thread per webhook -> its receiver
//
// Of several on one PostgreSQL store one leads. The others follow its journal, answer what they can from what they have
// read, forward the rest, and touch no switch.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "api/http/server.h"
#include "api/operations/operations.h"
#include "fabric/base/log/log.h"
#include "services/control/codec/journal_codec.h"
#include "services/control/control_loop.h"
#include "services/control/event_catch_up.h"
#include "services/control/events/event_feed.h"
#include "services/control/journal_scrub.h"
#include "services/control/live/live_subnets.h"
#include "services/control/replica.h"
#include "services/railweaved/config.h"
#include "services/railweaved/store.h"
#include "services/rest/control_plane.h"
#include "services/rest/replication/forwarder.h"
#include "services/webhooks/deliveries.h"

namespace railweave {

class Service {
 public:
  Service(Config config, const log::Log& log);
  ~Service();  // waits for computations
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Opens the store, replays it, connects live subnets, listens. Errors: of any of these steps.
  [[nodiscard]] Result<void> start();
  [[nodiscard]] std::string url() const { return server_->url(); }
  // False: a computation did not end in time, and uses parts of this until the process ends. Nothing acknowledged is in
  // it: the loop has stopped and its snapshot is saved.
  [[nodiscard]] bool stop();
  // This process has ended itself, by SIGTERM, and is to be started again: another has taken over the store, or what it
  // read is no longer there.
  [[nodiscard]] bool is_to_restart() const { return is_to_restart_; }

 private:
  Result<void> open();
  Result<void> lead();
  void announce();
  void follow();
  Result<void> prepare_server();
  [[nodiscard]] std::optional<std::chrono::milliseconds> out_of_touch() const;
  void restart(const std::string& why);

  const Config config_;
  const log::Log log_;
  const std::string replica_name_;
  std::atomic<bool> is_to_restart_{false};
  Store store_;
  api::JournalCodec codec_;
  control::EventFeed feed_;
  std::unique_ptr<control::ControlLoop> loop_;
  std::unique_ptr<control::EventCatchUp> catch_up_;
  std::unique_ptr<control::LiveSubnets> live_;
  std::unique_ptr<webhooks::Deliveries> webhooks_;
  std::unique_ptr<control::JournalScrub> scrub_;
  std::unique_ptr<api::Operations> operations_;
  std::unique_ptr<api::ControlPlane> plane_;
  std::unique_ptr<control::Replica> replica_;  // where this one began as a follower; with
  std::unique_ptr<api::Forwarder> forwarder_;
  std::unique_ptr<api::Server> server_;
};

}  // namespace railweave
