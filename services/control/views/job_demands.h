// What placed jobs send between the ports of adapters, as predicted from their parallelism and their model or traffic, in the mean
// over a step: what routes that follow jobs are chosen for. A pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

struct JobDemands {
  static constexpr double kMaxFlows = 1e6;  // of all jobs; more are not listed

  std::vector<fabric::Demand> demands;
  std::size_t jobs = 0;        // that send over the subnet
  bool is_incomplete = false;  // there are too many flows: some jobs are left out
};

// Over one subnet, with packets led by these tables. Jobs whose step takes no finite time are left out.
JobDemands job_demands(const ClusterState& state, const fabric::ForwardingTables& tables, fabric::SubnetId subnet);

}  // namespace railweave::control
