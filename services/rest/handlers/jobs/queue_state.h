// Why a job waits, as of the queue's last cycle.
#pragma once

#include "scheduler/queue/cycle/wait_reason.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// null: the job does not wait, or was submitted after that cycle. Lives as long as the view.
const scheduler::WaitReason* wait_reason(const control::QueueView& view, control::JobId job);

}  // namespace railweave::api
