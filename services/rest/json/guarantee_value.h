// Guarantees and their enforcement as JSON values that several answers share. Private to this folder.
#pragma once

#include "scheduler/admission/source_cap.h"
#include "services/control/state/job_guarantee.h"
#include "services/json/json_out.h"

namespace railweave::api {

Out guarantee_out(const control::JobGuarantee& guarantee);
Out enforcement_json(const scheduler::SourceCap& cap);

}  // namespace railweave::api
