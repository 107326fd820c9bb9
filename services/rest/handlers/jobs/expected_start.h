// When jobs are expected to start. The forecast of all that wait is kept for as long as nothing of it has happened.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/control/decide/start_forecast.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// On worker threads and on that of the answers. none: another thread takes long to look ahead; ask again.
std::optional<control::ExpectedStart> expected_start(const ControlPlane& plane, const control::ClusterState& state,
                                                     control::JobId job);
// The times alone of several, 0 where not known.
std::vector<std::int64_t> expected_times(const ControlPlane& plane, const control::ClusterState& state,
                                         std::span<const control::JobId> jobs);
// Of a job that would be submitted now.
control::ExpectedStart expected_start(const ControlPlane& plane, const control::ClusterState& state,
                                      const scheduler::JobSpec& spec);

// Leaves out which jobs of other tenants end before; their number stays.
void leave_own_tenant(const control::ClusterState& state, const std::string& tenant, control::ExpectedStart& start);

}  // namespace railweave::api
