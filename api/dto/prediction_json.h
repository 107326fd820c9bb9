// Predicted times <-> JSON values, for answers and the journal alike. Private to api/dto.
#pragma once

#include "api/dto/json_out.h"
#include "api/dto/strict_json.h"
#include "scheduler/placement/placement.h"
#include "scheduler/placement/placement_fabric.h"

namespace railweave::api {

Out to_json(const scheduler::Prediction& prediction);
Result<scheduler::Prediction> prediction_from_json(const Json& value, const std::string& pointer);

Out alternatives_to_json(const std::vector<scheduler::Alternative>& alternatives);

// How far each kind of group reaches.
Out groups_to_json(const scheduler::PlacementFabric& fabric, const scheduler::Parallelism& parallelism,
                   const scheduler::Placement& placement);

}  // namespace railweave::api
