// In which order the ranks of a job are assigned to the GPUs that Packing lists.
#pragma once

#include <cstdint>

#include "scheduler/job/job_spec.h"

namespace railweave::scheduler {

// Which larger pieces stay near each other: the data-parallel ranks of a stage (Megatron's order of ranks), or the
// stages of one replica of the model.
enum class PackingOrder : std::uint8_t { stages, replicas };

// The rank at a position of the packing order, in which the pieces of JobShape::nested_gpus are consecutive.
std::uint64_t rank_at(const Parallelism& parallelism, bool expert_inside, std::uint64_t position,
                      PackingOrder order = PackingOrder::stages);

}  // namespace railweave::scheduler
