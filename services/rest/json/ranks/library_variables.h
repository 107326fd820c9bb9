// The variables by which libraries that send over RDMA are told a job's class, or its own lane, and its tenant's partition.
// Each library reads names of its own, and an adapter sends what is not marked with service level 0, DSCP 0 and the key at
// index 0. Libraries that cannot be told are named, so that their packets are not taken for the job's:
// RAILWEAVE_OUTSIDE_CLASS=libfabric,gloo and RAILWEAVE_OUTSIDE_PARTITION.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/rest/json/ranks/class_marks.h"

namespace railweave::api {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Alike for all ranks: of the class, and of the level of the job's paths, where routes give them one. Where its paths have
// several levels no library can be told, as each sends all packets of a rank with one; RAILWEAVE_PATH_LEVELS has them then.
// Empty for a job without either: what its users and its hosts have set stays.
Variables class_variables(const RankMarks& marks);
std::string levels_text(const RankMarks& marks);  // "0,2": of its packets, by path

// Of the ranks on a host; empty where they are in the default partition.
Variables partition_variables(const RankMarks& marks, fabric::HostId host);

// Known libraries that read no variable for it, in lower case. None where the job has no class, or no partition.
std::vector<std::string_view> outside_class(const RankMarks& marks);
std::vector<std::string_view> outside_partition(const RankMarks& marks, fabric::HostId host);

}  // namespace railweave::api
