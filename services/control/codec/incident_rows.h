// Rows of the reporting tables that begin with one event and end with another: fabric_incidents (an alarm, from the event
// that raised it until the one that clears it) and guarantee_breaches (the time for which a job did not get its guarantee).
// Pure.
#pragma once

#include <vector>

#include "services/control/events/event_codec.h"

namespace railweave::api {

// `after`: the state with the event applied.
void add_begun(const control::Event& event, const control::ClusterState& after, std::vector<db::ReportRow>& rows);

// `before`: the state that the event will be applied to. Few events end anything.
std::vector<db::ReportRow> ended_rows(const control::Event& event, const control::ClusterState& before);

}  // namespace railweave::api
