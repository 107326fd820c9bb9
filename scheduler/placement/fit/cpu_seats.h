// Where the members of CPU-only roles go, which hold no GPU: on the nodes of their job, evenly in the order of its ranks;
// and, where a role has a bound for each node, the others on nodes near it. Those are nodes where a GPU is free (so that
// no job has them to itself) and compute nodes without GPUs. One that is completely free, or in an NVLink domain, rack or
// leaf group that is, is taken only where no other node has a place: such groups stay whole for jobs that need them.
// The rules of the job about nodes hold for its members too. Nothing is reserved for them, and CPUs are not counted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

using AllocationOf = std::function<const HostAllocation&(fabric::HostId)>;

// Which role has more members than the nodes may take, whatever GPUs the job gets.
struct NoCpuSeats {
  std::string role;
  std::uint32_t members = 0, max_per_node = 0;
  std::uint64_t nodes = 0;  // that may take members
  [[nodiscard]] std::string text() const;
};

// Before the job has GPUs: whether its CPU-only roles have places, once its ranks have. None: they have. Taking GPUs never
// makes places. O(nodes) where a role has a bound, else O(1).
std::optional<NoCpuSeats> lacks_cpu_seats(const PlacementFabric& fabric, const AllocationOf& allocation,
                                          const JobSpec& spec);

// allocation: before or after the job takes its GPUs. Where there are too few places, as after nodes were lost, nodes hold
// more than the bound. Empty: the job has no such roles. O(ranks), and O(nodes x levels) where members are beside the job.
std::vector<CpuSeats> cpu_seats(const PlacementFabric& fabric, const AllocationOf& allocation, const JobSpec& spec,
                                const Placement& placement);

}  // namespace railweave::scheduler
