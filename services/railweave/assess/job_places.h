// Where running jobs are in the fabric: which straddle leaf groups or NVLink domains, which are out of order and what another
// order would give, which share ports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"
#include "fabric/topology/locality.h"
#include "services/railweave/assess/running_jobs.h"

namespace railweave::cli {

// How the hosts of a job lie in the groups of a level.
struct LevelUse {
  std::size_t used = 0, fewest = 0;
  std::size_t crossings = 0, fewest_crossings = 0;  // of a ring in this order, and in the best order
  [[nodiscard]] bool straddles() const { return used > fewest; }
  [[nodiscard]] bool out_of_order() const { return crossings > fewest_crossings; }
};

struct PlacedJob {
  RunningJob job;
  std::vector<fabric::HostId> hosts;  // those that the fabric has, in the order of ranks
  std::vector<std::string> unknown_hosts;
  LevelUse leaf_groups, nvlink_domains;  // the second is empty where no domain is larger than a host
  // The same hosts, those of one group and domain next to each other; empty where they are already.
  std::vector<fabric::HostId> better_order;
};

std::vector<PlacedJob> place_running(const fabric::Topology& topology, const fabric::Locality& locality,
                                     const std::vector<RunningJob>& jobs);

// A port between switches that rings of several jobs leave by.
struct SharedPort {
  std::string port, from, to;
  std::vector<std::size_t> jobs;  // positions
};

// The fullest first. Rings go from host to host over each rail by itself, as the tables send them.
std::vector<SharedPort> shared_ports(const fabric::FabricView& view, const fabric::ForwardingTables& tables,
                                     const std::vector<PlacedJob>& jobs);

}  // namespace railweave::cli
