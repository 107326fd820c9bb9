// Predicted times <-> JSON values, for answers and the journal alike.
#pragma once

#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const scheduler::Prediction& prediction);
Result<scheduler::Prediction> prediction_from_json(const Json& value, const std::string& pointer);

Out alternatives_to_json(const std::vector<scheduler::Alternative>& alternatives);

// How far each kind of group reaches.
Out groups_to_json(const scheduler::PlacementFabric& fabric, const scheduler::Parallelism& parallelism,
                   const scheduler::Placement& placement);

}  // namespace railweave::api
