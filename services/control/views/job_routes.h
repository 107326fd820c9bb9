// Next hops for the jobs that run in a subnet whose switches the service has no connection to, such as an Ethernet fabric: what they
// are to be, and what they are worth beside the routes there are. A pure function of the state and its routes: the hops in force are
// part of the state, so few of them change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/topology/ids.h"
#include "services/control/state/cluster_state.h"
#include "services/control/state/route_basis.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct JobRoutes {
  std::string kept_because;         // routes stay as they are, and why; "": they are to change
  std::vector<RouteHop> hops;       // all that are to be in force; those in force where routes stay
  std::size_t jobs = 0;             // that send over the subnet
  std::size_t changed_entries = 0;  // of forwarding tables
  // What jobs ask of the fullest link between switches, as a share of its rate: on routes that know of no job, on those in force, and
  // on these.
  double fullest_even = 0, fullest_before = 0, fullest = 0;
  [[nodiscard]] bool is_change() const { return kept_because.empty(); }
};

// now: the routes in force. Hops are changed where that is worth it (TrafficBalance::is_worth_it()), or where the fullest link would be
// fuller than on routes that know of no job; then never fuller than on those. Jobs with guarantees keep their paths. Errors: of routing.
Result<JobRoutes> routes_for_jobs(const ClusterState& state, const FabricRoutes& now, fabric::SubnetId subnet);

// Of the table that a switch is to have, and of the fabric as imported: of equal digests nothing has to be read again.
struct TableDigest {
  fabric::SwitchId sw;
  std::uint64_t digest = 0;
  friend bool operator==(const TableDigest&, const TableDigest&) = default;
};
// Of all switches of the subnet. O(entries).
std::vector<TableDigest> table_digests(const ClusterState& state, const FabricRoutes& routes, fabric::SubnetId subnet);

}  // namespace railweave::control
