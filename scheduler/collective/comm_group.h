// The kinds of groups in which a job's ranks communicate; `roles`: with ranks of other roles of their gang.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/base/enum_text.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/job/model.h"

namespace railweave::scheduler {

enum class CommGroup : std::uint8_t { tensor, context, expert, data, expert_data, pipeline, roles };
inline constexpr std::size_t kCommGroups = 7;
BOOST_DESCRIBE_ENUM(CommGroup, tensor, context, expert, data, expert_data, pipeline, roles)

// Ranks of one group of the kind; of roles, whose ranks are of other jobs as well: 0.
std::uint64_t group_size(const Parallelism& parallelism, CommGroup group);
const GroupTraffic& traffic_of_group(const TrafficSpec& traffic, CommGroup group);
// Whether the group's transfers come in pairs, one after the other: the second the reverse of the first.
bool there_and_back(CommGroup group, const GroupTraffic& traffic);

}  // namespace railweave::scheduler
