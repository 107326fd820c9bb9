// Why a job waits, as of the queue's last cycle.
#pragma once

#include "scheduler/queue/cycle/wait_reason.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// Null: it does not wait, or came after that cycle. Lives as long as the view.
const scheduler::WaitReason* wait_reason(const control::QueueView& view, control::JobId job);

}  // namespace railweave::api
