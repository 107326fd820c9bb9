// Parts of a job that other answers share. For answers alone.
#pragma once

#include "fabric/base/message.h"
#include "scheduler/queue/cycle/wait_reason.h"
#include "services/control/state/job.h"
#include "services/json/json_out.h"

namespace railweave::api {

// expected_us: when the job is expected to start; 0: not known.
Out to_json(const scheduler::WaitReason& reason, std::int64_t expected_us, const MessageReader& reader);
Out job_line_json(const control::Job& job);

}  // namespace railweave::api
