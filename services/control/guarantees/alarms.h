// One alarm for each guarantee that does not hold, from when it lapsed until it holds again or nobody is promised it
// any more. Follows from the state alone.
#pragma once

#include <string>
#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

inline constexpr const char* kGuaranteeAlarm = "guarantee.atRisk";  // the subject is the job

// Raised and cleared, for the alarms of the state to be those that it asks for.
std::vector<EventBody> guarantee_alarm_changes(const ClusterState& state);

// What is wrong; `remedy`: what is to be done, "": nothing that is known.
Alarm guarantee_alarm(const Job& job, const std::string& remedy);

}  // namespace railweave::control
