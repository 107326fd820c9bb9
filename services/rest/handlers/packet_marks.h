// What the packets of a class are marked with on the routes of a state.
#pragma once

#include <optional>
#include <string>

#include "services/rest/control_plane.h"
#include "services/rest/json/guarantee.h"

namespace railweave::api {

// On a worker thread only.
inline std::optional<ClassMarks> marks_of(const ControlPlane& plane, const control::ClusterState& state,
                                          const std::string& qos_class) {
  const auto routes = plane.routes->at(state);
  return routes ? class_marks(state, qos_class, (*routes)->routing.lanes) : std::nullopt;
}

}  // namespace railweave::api
