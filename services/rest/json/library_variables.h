// The variables by which libraries that send over RDMA are told a job's class, or its own lane, and its tenant's partition.
// Each library reads names of its own, and an adapter sends what is not marked with service level 0, DSCP 0 and the key at
// index 0. Libraries that cannot be told are named, so that their packets are not taken for the job's:
// RAILWEAVE_OUTSIDE_CLASS=libfabric,gloo and RAILWEAVE_OUTSIDE_PARTITION.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/rest/json/class_marks.h"

namespace railweave::api {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Alike for all ranks. Empty for a job without a class: what its users and its hosts have set stays.
Variables class_variables(const RankMarks& marks);

// Of the ranks on a host; empty where they are in the default partition.
Variables partition_variables(const RankMarks& marks, fabric::HostId host);

// Known libraries that read no variable for it, in lower case. None where the job has no class, or no partition.
std::vector<std::string_view> outside_class(const RankMarks& marks);
std::vector<std::string_view> outside_partition(const RankMarks& marks, fabric::HostId host);

}  // namespace railweave::api
