// What a caller is shown of an event, if anything: the audience of its kind (services/control/events/event_kind.h). Members
// are shown the events of their tenant since it was created, of its contract, its webhooks and its jobs that are still
// known, and alarms about those jobs; of other tenants they name nothing. Pure.
#pragma once

#include <optional>
#include <string>

#include "db/journal.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {

inline constexpr const char* kOtherActor = "another";  // who is neither of the tenant nor an operator

struct EventReader {
  control::Role role = control::Role::viewer;
  std::string tenant;  // of members
  std::string name;    // the actor of what it does itself
};

// As GET /v1/events shows it; none: it is not for this reader.
std::optional<std::string> shown_event(const control::ClusterState& state, const EventReader& reader,
                                       const db::Record& record);

}  // namespace railweave::api
