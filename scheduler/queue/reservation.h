// A reservation ahead of time: which GPUs a tenant can be given from one time to another. The window that comes of it
// goes into QueuePolicy::windows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scheduler/placement/placer.h"
#include "scheduler/queue/policy/queue_job.h"
#include "scheduler/queue/policy/queue_policy.h"

namespace railweave::scheduler {

struct ReservationRequest {
  std::string name;
  // Its tenant, how many GPUs in which groups, and how near: {.job = {.required = rack}} keeps them in one rack.
  JobSpec shape;
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;
};

// GPUs that are expected to be free in that time: of no running job by its expected end, and of no other window. The
// placer is synced to the allocations; sync it again before it is used for something else. Errors: invalid
// (queue.invalidReservation), conflict (queue.noRoomForReservation).
Result<QueueWindow> plan_reservation(Placer& placer, const QueuePolicy& policy, std::span<const RunningJob> running,
                                     const ReservationRequest& request, std::int64_t now_us);

}  // namespace railweave::scheduler
