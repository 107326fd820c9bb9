// A placement that is tried on a state, and the state as it would be with it. Nothing is submitted.
#pragma once

#include <cstdint>
#include <expected>

#include "services/control/decide/submission.h"

namespace railweave::api {

using TriedPlacement = std::expected<control::JobStart, control::Rejection>;

// As a submission would be answered; a what-if may leave its tenant out.
Result<void> check_query(const control::ClusterState& state, const scheduler::JobSpec& spec);

// What a submission of the job would lead to, with what would change a refusal. On worker threads, which have time for
// every failure that the placement has to survive.
TriedPlacement try_placement(const control::SubmissionInput& in, const scheduler::JobSpec& spec, bool by_member,
                             bool with_alternatives);

// The same without alternatives, and without what would change a refusal.
TriedPlacement try_placement_alone(const control::SubmissionInput& in, const scheduler::JobSpec& spec, bool by_member);

// Of a job with several shapes: the one that it takes becomes its parallelism.
void take_shape(scheduler::JobSpec& spec, const scheduler::PlacementResult& result);

// The state with the job started so, as if it had been submitted.
void place_on(control::ClusterState& state, control::JobStart start, std::int64_t now_us);

}  // namespace railweave::api
