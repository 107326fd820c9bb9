// Where running jobs are in the fabric: which straddle leaf groups, which are out of order, which share ports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"
#include "fabric/topology/locality.h"
#include "services/railweave/assess/running_jobs.h"

namespace railweave::cli {

struct PlacedJob {
  RunningJob job;
  std::vector<fabric::HostId> hosts;  // those that the fabric has, in the order of ranks
  std::vector<std::uint32_t> groups;  // the leaf group of each
  std::size_t unknown_hosts = 0;
  std::size_t groups_used = 0, fewest_groups = 0;
  std::size_t crossings = 0, fewest_crossings = 0;  // of a ring in this order, and in the best order
  [[nodiscard]] bool straddles() const { return groups_used > fewest_groups; }
  [[nodiscard]] bool out_of_order() const { return crossings > fewest_crossings; }
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
