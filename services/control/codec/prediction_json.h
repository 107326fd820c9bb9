// Predicted times <-> JSON values, for answers and the journal alike.
#pragma once

#include <optional>
#include <string>

#include "scheduler/placement/fit/placement.h"
#include "services/json/json_out.h"
#include "services/json/record.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// Milliseconds to the nanosecond; null: unknown, or no traffic arrives.
Out ms_json(double us);
Out ms_json(const std::optional<double>& us);

Out to_json(const scheduler::Prediction& prediction);
Result<scheduler::Prediction> prediction_from_json(const Json& value, const std::string& pointer);

// As a field of other records: a form of record.h.
inline constexpr Embedded kPrediction{
    [](const scheduler::Prediction& prediction) { return to_json(prediction); },
    [](const Json& value, const std::string& pointer) { return prediction_from_json(value, pointer); }};

}  // namespace railweave::api
