// What the order of a job's ranks costs where its GPUs are given: the predicted time of the order it has, and of the best
// one that is found for the same GPUs. For jobs that another scheduler placed. Changes nothing.
//
// Method: the order of a fresh placement on these GPUs alone, the GPUs in the order of the fabric, and the present order are
// improved by exchanges of ranks, of tensor groups, of nodes' ranks and of stages as long as one helps. A bounded search,
// the same for the same input; exact in tests of all orders of small jobs, not in general.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/placer.h"

namespace railweave::scheduler {

struct RankOrder {
  // Of a step where the job says what it computes, else of its communication; alone. Infinite: some ranks do not reach
  // each other.
  double present_us = 0, best_us = 0;
  bool of_step = false;
  // Rank i should have the GPU that rank ranks[i] has now. Empty: no order is known that is faster by more than what the
  // placer takes for equal (LayoutChoice::kAsGood).
  std::vector<std::uint32_t> ranks;
};

// The placer is synced to allocations, in which the job holds these GPUs.
RankOrder rank_order(Placer& placer, const Allocations& allocations, const JobSpec& spec,
                     std::span<const fabric::GpuId> gpu_of_rank);

}  // namespace railweave::scheduler
