// Takes over a job that runs already where another scheduler put it: exactly these GPUs in this order. Used by SubmitJob.
#pragma once

#include <memory>

#include "services/control/decide/commands.h"

namespace railweave::control {

// What a placement of Railweave's own would not do there is a finding, not a refusal: the job runs. Refused only where a
// GPU is not there, is named twice or is another job's.
DecisionResult adopt_job(const DecisionInput& in, const AdoptedPlace& place, std::shared_ptr<Job> job);

}  // namespace railweave::control
