// The body and the answer of /v1/jobs/{id}/steps, and what GET /v1/gains answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "services/control/events/command.h"
#include "services/control/views/step_gains.h"
#include "services/json/json_out.h"

namespace railweave::api {

// Errors: codes of bodies, with the place.
Result<control::ReportSteps> read_step_report(control::JobId id, std::string_view body);

// times: null where the job has reported none.
Out step_times_json(control::JobId job, const control::StepTimes* times, const MessageReader& reader);
std::string write_step_times(control::JobId job, const control::StepTimes* times, const MessageReader& reader);

std::string write_gains(std::span<const control::StepGain> gains, std::uint64_t seq);

}  // namespace railweave::api
