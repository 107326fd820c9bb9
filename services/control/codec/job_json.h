// Job <-> JSON values as the journal keeps them.
#pragma once

#include <memory>

#include "fabric/topology/topology.h"
#include "services/control/state/job.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// [["node-1", [0, 1, 2]], ...] in rank order.
Out ranks_to_json(const fabric::Topology& topology, const std::vector<fabric::GpuId>& gpu_of_rank);
Result<std::vector<fabric::GpuId>> ranks_from_json(const fabric::Topology& topology, const Json& value);

Out job_to_json(const control::Job& job, const fabric::Topology& topology);
Result<std::shared_ptr<control::Job>> job_from_json(const Json& value, const fabric::Topology& topology);

std::optional<fabric::LevelKind> level_named(std::string_view name);

}  // namespace railweave::api
