// What becomes of a job that is submitted now: where it starts and with which guarantee, or why not and what would change
// that. The one path of submissions and what-ifs, so that a what-if says what a submission would do. Pure but for the
// caches that are passed in.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <vector>

#include "services/control/decide/queue_runner.h"
#include "services/control/events/event.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// Borrows all.
struct SubmissionInput {
  const ClusterState& state;
  PlacerCache& placers;
  QueueRunner& queue;
  std::int64_t now_us = 0;
  const scheduler::Placement* place = nullptr;  // where the plan of its gang has the job; null: it has none
};

struct JobStart {
  AdmittedPlacement placed;
  std::vector<EventBody> events;  // that start it, in order: other jobs may be evicted for it
};

// Of a job that does not queue. Where jobs wait, GPUs are reserved or its tenant has a quota, it starts if it delays no
// other job. A job without a tenant, in a what-if, is held to no limit. Refused: "tenants.gpuLimit",
// "tenants.quotaTooSmall", "jobs.mustWait", "jobs.minRuntimeTooLong", and as admitted_placement().
std::expected<JobStart, Rejection> start_job(const SubmissionInput& in, const std::shared_ptr<const Job>& job,
                                             bool with_alternatives = false);

// What a submission of the job is refused for before any place is looked for. queued: it may wait for its tenant's jobs.
std::optional<Rejection> over_limits(const ClusterState& state, const scheduler::JobSpec& spec, bool queued);

// The refusal as an answer, with changes of the request or of the fabric after which the job would start now or, where it
// never could, later. Each was asked again with start_job(); what would not be so is not offered.
Rejection with_changes(const SubmissionInput& in, const std::shared_ptr<const Job>& requested, Rejection refused);

}  // namespace railweave::control
