// The flows between the ranks of a job and those of its peers, the other roles of its gang (scheduler/job/role_traffic.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scheduler/collective/phases.h"
#include "scheduler/job/model.h"

namespace railweave::scheduler {

// Pairs of one peer that are listed; of more, as many are, evenly over the ranks of both, which then carry all bytes.
inline constexpr std::size_t kMaxRoleFlows = 16'384;

double role_flow_count(std::size_t ranks, const TrafficSpec& traffic);

// Ranks of the job are 0 to ranks - 1; those of its peers follow, in the order of the peers: as gpus_with_peers().
std::vector<RankFlow> role_flows(std::size_t ranks, const TrafficSpec& traffic);
std::vector<fabric::GpuId> gpus_with_peers(std::span<const fabric::GpuId> gpu_of_rank, const TrafficSpec& traffic);

}  // namespace railweave::scheduler
