// All that the handlers know of the service: they read the published state, submit commands to the control loop and watch
// events. Built by services/railweaved/service.h. Every member is thread-safe, or says which mutex guards it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "db/journal.h"
#include "services/control/agents/node_agents.h"
#include "services/control/control_loop.h"
#include "services/control/event_catch_up.h"
#include "services/control/events/event_feed.h"
#include "services/control/live/status/live_fabric.h"
#include "services/control/replica.h"
#include "services/control/views/contention_book.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/routing_cache.h"
#include "services/rest/replication/forwarder.h"

namespace railweave::api {

struct ControlPlane {
  control::ControlLoop& loop;
  control::EventFeed& feed;
  control::EventCatchUp& catch_up;
  db::Journal& journal;       // for events older than the feed keeps
  control::LiveFabric& live;  // what is observed of the fabric and written to it
  // The routes of the published state, computed when first asked for.
  std::shared_ptr<control::RoutingCache> routes = std::make_shared<control::RoutingCache>();
  // What guarantees reserve of the links of the published state. The mutex guards the book.
  struct Guarantees {
    explicit Guarantees(std::shared_ptr<control::RoutingCache> routes) : book(std::move(routes)) {}
    std::mutex mutex;
    control::GuaranteeBook book;
  };
  std::shared_ptr<Guarantees> guarantees = std::make_shared<Guarantees>(routes);
  // What agents on the nodes report. Where its mutex and that of guarantees are held together, this one is locked last.
  std::shared_ptr<control::NodeAgents> agents = std::make_shared<control::NodeAgents>();
  // How much placed jobs slow each other in the published state. The mutex guards the book.
  struct Contention {
    explicit Contention(std::shared_ptr<control::RoutingCache> routes) : book(std::move(routes)) {}
    std::timed_mutex mutex;
    control::ContentionBook book;
  };
  std::shared_ptr<Contention> contention = std::make_shared<Contention>(routes);
  // Where the store is shared with other processes; both or neither.
  const control::Replica* replica = nullptr;
  Forwarder* forwarder = nullptr;
  std::string replica_name = {};
  // Of this run of the program: the keys of what agents on the nodes say to each other follow from it.
  std::string exchange_secret = {};
  // how long a process that shares its store has received nothing from it, once that is longer than the lease.
  std::function<std::optional<std::chrono::milliseconds>()> out_of_touch = [] { return std::nullopt; };
};

}  // namespace railweave::api
