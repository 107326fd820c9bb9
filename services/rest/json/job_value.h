// Parts of a job that other answers share. Private to this folder.
#pragma once

#include "scheduler/queue/cycle/wait_reason.h"
#include "services/control/state/job.h"
#include "services/json/json_out.h"

namespace railweave::api {

Out to_json(const scheduler::WaitReason& reason);
Out job_line_json(const control::Job& job);
Out time_or_null(std::int64_t us);  // 0: null

}  // namespace railweave::api
