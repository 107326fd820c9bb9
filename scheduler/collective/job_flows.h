// Every flow of one kind of a placed job's groups, rank by rank. Admission reserves for these flows (pattern promises),
// and predictions put them on real routes. To score a placement, PlacementCostModel adds up the same bytes without
// listing flows.
#pragma once

#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/collective/phase_times.h"
#include "scheduler/collective/placement_cost.h"

namespace railweave::scheduler {

// bytes: of a step. Rings inside each NVLink domain, and across domains one ring per rail of the domain with fewest
// members; all-to-all pair by pair (members^2 flows a group); pipelines to the next stage and back; to parameter
// servers every push, each followed by the pull of as much. Flat where no NVLink switches reduce: a domain's adapters
// then carry (n-1)/n rather than (k-1)/k of what a ring passes. Where switches of the network reduce (they have
// aggregation nodes), each ring carries its part of the vector once: what adapters carry, and at least what leaves'
// uplinks do.
std::vector<RankFlow> job_flows(const FabricBundles& bundles, std::span<const fabric::GpuId> gpu_of_rank,
                                const Parallelism& parallelism, const TrafficSpec& traffic, CommGroup group, bool nvls);

// The time per step of one kind of group over the paths given, all its flows at once at max-min fair rates beside the
// background: bytes alone, at what the generation reaches of nominal rates; add call latencies by call_us(). Errors: as
// collective_time().
Result<double> routed_transfer_us(const PathModel& paths, std::span<const fabric::GpuId> gpu_of_rank,
                                  std::span<const RankFlow> flows, const GpuGeneration& generation,
                                  const BackgroundFlows* background = nullptr);

}  // namespace railweave::scheduler
