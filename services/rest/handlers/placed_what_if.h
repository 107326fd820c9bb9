// A placement that is tried on a state, and the state as it would be with it. Nothing is submitted.
#pragma once

#include <cstdint>
#include <expected>

#include "services/control/guarantees/admitted_placement.h"

namespace railweave::api {

using TriedPlacement = std::expected<control::AdmittedPlacement, control::Rejection>;

// As a submission would be answered; a what-if may leave its tenant out.
Result<void> check_query(const control::ClusterState& state, const scheduler::JobSpec& spec);

// Where the job would go, within the limits of its tenant. On worker threads, which have time for every failure that the
// placement has to survive.
TriedPlacement try_placement(control::PlacerCache& placers, std::int64_t now_us, const control::ClusterState& state,
                             const scheduler::JobSpec& spec, bool with_alternatives);

// The state with the job on these GPUs, as if it had been submitted.
void place_on(control::ClusterState& state, const scheduler::JobSpec& spec, control::AdmittedPlacement placed,
              std::int64_t now_us);

}  // namespace railweave::api
