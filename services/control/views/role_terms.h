// Which promises to other roles of a gang can be kept at all (BandwidthTerms::between_roles). A pure function.
#pragma once

#include "fabric/base/error.h"
#include "scheduler/admission/contract.h"
#include "scheduler/job/job_spec.h"

namespace railweave::control {

// Refuses one without a guarantee, of a pattern, or inside a class, where agents divide budgets among the ports of one job.
// terms: of the job; null: it is best effort. Kind impossible, "admission.betweenRoles".
Result<void> check_between_roles(const scheduler::JobSpec& spec, const scheduler::Contract* terms);

}  // namespace railweave::control
