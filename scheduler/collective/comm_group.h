// The kinds of groups in which a job's ranks communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scheduler/job/job_spec.h"
#include "scheduler/job/model.h"

namespace railweave::scheduler {

enum class CommGroup : std::uint8_t { tensor, context, expert, data, expert_data, pipeline };
inline constexpr std::size_t kCommGroups = 6;
std::string_view to_string(CommGroup group);  // "tensor", "expertData"

// Ranks of one group of the kind.
std::uint64_t group_size(const Parallelism& parallelism, CommGroup group);
const GroupTraffic& traffic_of_group(const TrafficSpec& traffic, CommGroup group);
// One transfer after the other, the second the way back of the first.
bool there_and_back(CommGroup group, const GroupTraffic& traffic);

}  // namespace railweave::scheduler
