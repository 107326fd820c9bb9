// Alarms of jobs: one for each guarantee at risk, from the time it lapses until it holds again or is withdrawn; one for each job
// with a guarantee whose ranks mark their packets otherwise than it asks for, until they start again; and one for each damaged
// job, guaranteed or not, until it is whole or gone. Of subnets: one where guarantees count on tables that Railweave wrote and no
// longer looks after. Derived from the state alone. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

inline constexpr const char* kGuaranteeAlarm = "guarantee.atRisk";   // the subject is the job
inline constexpr const char* kDamageAlarm = "job.damaged";           // the subject is the job
inline constexpr const char* kRemarkedAlarm = "guarantee.remarked";  // the subject is the job
inline constexpr const char* kUnkeptAlarm = "guarantee.unkept";      // the subject is the subnet

// AlarmRaised and AlarmCleared events, so that the state's alarms match its guarantees.
std::vector<EventBody> guarantee_alarm_changes(const ClusterState& state);

// The alarm of a job whose guarantee is at risk. `remedy`: what the operator can do; "": unknown.
Alarm guarantee_alarm(const Job& job, const std::string& remedy);

// Appends AlarmRaised unless the alarm stands with this text. damage: as Job::damage.
void raise_damage_alarm(const ClusterState& state, const Job& job, const Message& damage,
                        std::vector<EventBody>& events);
// AlarmCleared for each job that has no damage any more, was evicted or has ended.
std::vector<EventBody> cleared_damage_alarms(const ClusterState& state);

}  // namespace railweave::control
