// On how many lanes a subnet in direct mode is routed. Where an engine needs several, its routes are used once ports have the
// tables for them and senders are told the service levels of their paths; until then, and where that cannot be, routes go up and then
// down on one lane. On those any level is as good, whatever lane it is on, so senders are told the new levels on the old tables, and the
// new tables come when no job is left that may send by other levels. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "services/control/live/ports/lanes_on_ports.h"
#include "services/control/state/job_id.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct RouteLanes {
  FabricRoutesPtr several;        // the engine's own; null: they need one lane
  FabricRoutesPtr single;         // those that are used until then; null: such as go up and then down
  unsigned needed = 1;            // lanes of those
  bool are_used = false;          // those are the routes wanted; else others on one lane
  std::string why;                // they are not used
  std::int64_t since_us = 0;      // routes on them are to be written, and wait for ports; 0: none wait
  std::int64_t next_us = 0;       // when ports are asked for again
  bool are_levels_known = false;  // to whoever sends, where those are used
  // Senders are told the levels of `several` while routes are on one lane.
  struct Telling {
    std::int64_t since_us = 0;  // 0: they are not
    bool is_over = false;       // who asked before is in jobs_before
    std::set<JobId> jobs_before{};
    fabric::Lanes levels{};
  } telling;
  std::int64_t levels_at_us = 0;  // unix: when levels from before the last repair were audited

  [[nodiscard]] bool are_lacking() const { return several != nullptr && !are_used; }

  // Writes ports for the lanes of these routes, for at most that many microseconds. Error: the connection failed.
  using Ready = std::function<Result<LanesOnPorts>(const ClusterState&, const fabric::RoutingInput&,
                                                   const fabric::Routing&, std::int64_t for_us)>;
  Ready ready;
};

}  // namespace railweave::control
