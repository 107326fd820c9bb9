// What a job computes and sends <-> JSON values.
#pragma once

#include "scheduler/job/model.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Result<scheduler::ModelSpec> model_from_json(const Json& value, const std::string& pointer);
Out to_json(const scheduler::ModelSpec& model);  // what differs from the defaults

Result<scheduler::TrafficSpec> traffic_from_json(const Json& value, const std::string& pointer);
Out to_json(const scheduler::TrafficSpec& traffic);  // groups that send something

}  // namespace railweave::api
