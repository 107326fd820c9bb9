// How far a guarantee reaches to other roles of a gang: to the ports of the jobs that the job sends data to, where it asks for
// that (BandwidthTerms::between_roles). The sender's guarantee has all of it, in its own class and lane, whatever the receiver
// is guaranteed itself. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "fabric/routing/plane/routing_scope.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/control/state/job_table.h"

namespace railweave::control {

// A job at a place that is not, or not yet, that of the table.
struct JobAt {
  JobId job;  // 0: it has no number yet
  std::span<const fabric::GpuId> gpus;
};

// Of each port of a receiving job; 0: the job asks for nothing.
std::int64_t between_roles_mbps(const scheduler::JobSpec& spec);
bool sends_to_roles(const scheduler::JobSpec& spec);
bool receives_from_roles(const scheduler::JobSpec& spec);

// What the ports of receiving jobs may receive from the job, those that meet ports of its own in a plane: ascending, a port of
// several receiving jobs once, with the sum. receiver: one more than the table has, or elsewhere.
std::vector<fabric::HosePort> receiving_ports(const scheduler::PlacementFabric& fabric,
                                              const fabric::RoutingScope& scope, const JobTable& jobs,
                                              const scheduler::JobSpec& spec,
                                              std::span<const fabric::GpuId> gpu_of_rank,
                                              const JobAt* receiver = nullptr);

// The jobs that it sends to, each once, in the order of its peers, and how many of their ports the guarantee reaches.
struct RoleReceiver {
  JobId job;
  std::string role;
  std::size_t ports = 0;  // 0: the job is not placed, or meets it in no plane
};
std::vector<RoleReceiver> role_receivers(const scheduler::PlacementFabric& fabric, const fabric::RoutingScope& scope,
                                         const JobTable& jobs, const scheduler::JobSpec& spec,
                                         std::span<const fabric::GpuId> gpu_of_rank);

}  // namespace railweave::control
