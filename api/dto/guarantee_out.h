// Parts of answers about guarantees that several answers have. Private to api/dto.
#pragma once

#include "api/dto/json_out.h"
#include "scheduler/admission/source_cap.h"
#include "services/control/job_guarantee.h"

namespace railweave::api {

Out guarantee_out(const control::JobGuarantee& guarantee);
Out enforcement_json(const scheduler::SourceCap& cap);

}  // namespace railweave::api
