// Alarms of guarantees: one for each guarantee at risk, from the time it lapses until it holds again or is withdrawn.
// Derived from the state alone. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

inline constexpr const char* kGuaranteeAlarm = "guarantee.atRisk";  // the subject is the job

// AlarmRaised and AlarmCleared events, so that the state's alarms match its guarantees at risk.
std::vector<EventBody> guarantee_alarm_changes(const ClusterState& state);

// The alarm of a job whose guarantee is at risk. `remedy`: what the operator can do; "": unknown.
Alarm guarantee_alarm(const Job& job, const std::string& remedy);

}  // namespace railweave::control
