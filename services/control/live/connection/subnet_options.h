// How one live subnet is watched, and what its controller needs of the rest of the service.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "fabric/base/log/log.h"
#include "fabric/capacity/ledger.h"
#include "fabric/drivers/fabric_driver.h"
#include "fabric/health/counter_archive.h"
#include "fabric/health/link_damping.h"
#include "services/control/events/command.h"
#include "services/control/live/connection/accept_replacements.h"
#include "services/control/live/connection/ingress_filtering.h"
#include "services/control/state/subnet_mode.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct ClusterState;

struct SubnetOptions {
  using Milliseconds = std::chrono::milliseconds;
  std::string subnet;
  std::string port;                     // of this machine, through which the subnet is reached; for people
  Milliseconds sweep_every{10'000};     // the light sweep that catches lost traps
  Milliseconds look_every{60'000};      // at every switch and port as it is: tables, in case another program wrote them
  Milliseconds counters_every{10'000};  // of every port, as fast as the driver's limit allows
  fabric::health::ArchiveOptions archive;  // of what was read
  bool use_swapped_cables = true;          // else they are only reported
  AcceptReplacements accept_replacements = AcceptReplacements::never;
  IngressFiltering ingress = IngressFiltering::isolation;
  // In direct mode routes are spread again over the links that are left, once nothing has changed for so long.
  bool rebalance = false;
  Milliseconds rebalance_after{10'000};
  bool follow_jobs = false;             // and with next hops that suit the jobs that run, as often
  bool compare_engines = false;         // what other engines would make is computed and shown, as often,
  bool take_better_engine = false;      // and a better one is taken, where that harms nothing,
  Milliseconds engine_hold{3'600'000};  // not more often
  std::size_t rebalance_blocks = 64;    // of all switches together, in a step
  // In direct mode routes may need several lanes, and senders the service level of each path; else routes are on one.
  bool several_lanes = false;
  bool has_key = false;  // the driver has a secret: in direct mode ports get management keys
  fabric::health::DampingOptions damping;
  Milliseconds coalesce{1};  // after a trap, to handle those that follow with it
  Milliseconds coalesce_most{20};
  std::string opensm_files;                             // folder for the files that OpenSM reads; "": none are written
  std::launch audits = std::launch::async;              // of whole routings; deferred: on the stepping thread
  Milliseconds retry_first{1'000}, retry_most{30'000};  // of a connection that fails, of switches that do not answer
};

// What guarantees reserve of every link; no ledger: ports are weighed by the classes' shares.
struct ReservedLoads {
  const fabric::Ledger* ledger = nullptr;
  std::uint64_t version = 0;  // changes with the ledger
};

// All of it outlives the controller.
struct SubnetSurroundings {
  std::function<Result<std::unique_ptr<fabric::FabricDriver>>(SubnetMode)> connect;
  std::function<std::int64_t()> monotonic_us, unix_us;
  std::function<void(decltype(Command::body))> report;  // to the control loop; must not block
  using RoutesOf = std::function<Result<FabricRoutesPtr>(const ClusterState&)>;
  RoutesOf routes;       // those that Railweave wants
  RoutesOf host_routes;  // for opensm mode: OpenSM has its own routes to switches' LIDs
  // Routes that states will ask for soon. Not set: nowhere.
  std::function<void(FabricRoutesPtr)> keep_routes{};
  // What guarantees reserve of every link of the state, for the stepping thread only; valid until the next call. Not
  // set: ports are weighed by the classes' shares.
  std::function<Result<ReservedLoads>(const ClusterState&)> reserved{};
  // The subnet's mode at this moment, while a round still has an older state: once it is another one, nothing more is
  // written. `observe` also where another process may have taken over. Not set: that of the round.
  std::function<SubnetMode()> mode_now{};
  // Where tables that are not the wanted ones become readable for others, under the name of this process. Not set: nowhere.
  std::function<void(SeenTablesPtr)> publish_tables{};
  std::string reader{};
  log::Log log{};
};

}  // namespace railweave::control
