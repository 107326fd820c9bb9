// What the packets of a job with a guarantee are marked with on the routes of a state.
#pragma once

#include <optional>
#include <span>

#include "services/control/views/job_ports.h"
#include "services/control/views/path_levels.h"
#include "services/rest/control_plane.h"
#include "services/rest/json/guarantees/guarantee.h"

namespace railweave::api {

// On a worker thread only.
inline std::optional<ClassMarks> marks_of(const ControlPlane& plane, const control::ClusterState& state,
                                          const control::JobGuarantee& guarantee, std::span<const fabric::GpuId> gpus) {
  const auto routes = plane.routes->at(state);
  return routes ? class_marks(state, guarantee, gpus, (*routes)->routing.lanes) : std::nullopt;
}

// Levels of the paths between a job's ports; RankMarks::path_levels.
inline std::uint16_t path_levels_of(const ControlPlane& plane, const control::ClusterState& state,
                                    std::span<const fabric::GpuId> gpus) {
  const auto routes = plane.routes->at(state);
  return routes ? control::path_levels(**routes, control::job_ports(*state.placement_fabric, gpus)) : std::uint16_t{0};
}

}  // namespace railweave::api
