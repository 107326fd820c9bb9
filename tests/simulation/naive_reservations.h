// What guarantees reserve of each link, from scratch: each job's pairs of ports are walked one by one through the tables,
// and the largest load that the job can put on a link is a matching of its senders and receivers across it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "services/control/state/cluster_state.h"
#include "services/control/views/routing_cache.h"

namespace railweave::simulation {

// By directed link and class, Mb/s. `least`: of jobs that are covered against failures this is a lower bound.
struct NaiveReservations {
  std::map<std::pair<fabric::DirectedLink, std::uint8_t>, std::int64_t> mbps;
  bool least = false;
};
NaiveReservations naive_reservations(const control::ClusterState& state, const control::FabricRoutes& routes);

}  // namespace railweave::simulation
