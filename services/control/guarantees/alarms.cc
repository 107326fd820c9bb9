#include "services/control/guarantees/alarms.h"

#include <utility>

#include "fabric/base/rate_text.h"

namespace railweave::control {

Alarm guarantee_alarm(const Job& job, const std::string& remedy) {
  const JobGuarantee& guarantee = *job.guarantee;
  Alarm alarm;
  alarm.kind = kGuaranteeAlarm;
  alarm.subject_kind = "job";
  alarm.subject_id = to_string(job.id);
  alarm.severity = AlarmSeverity::critical;
  alarm.text = alarm.subject_id + " of " + job.spec.tenant + " does not get its guaranteed " +
               rate_text(guarantee.rate) + " at each port in class " + guarantee.qos_class + ": " + guarantee.reason;
  if (!remedy.empty()) alarm.text += "; " + remedy;
  alarm.jobs = {alarm.subject_id};
  return alarm;
}

std::vector<EventBody> guarantee_alarm_changes(const ClusterState& state) {
  std::vector<EventBody> events;
  const auto lapsed = [&](const std::string& id) -> JobPtr {
    const auto job = parse_job_id(id);
    if (!job || !state.guaranteed->contains(*job)) return nullptr;
    JobPtr found = state.jobs.find(*job);
    return found->guarantee->at_risk() ? found : nullptr;
  };
  const std::string prefix = std::string(kGuaranteeAlarm) + ":";
  for (auto at = state.alarms->lower_bound(prefix); at != state.alarms->end() && at->first.starts_with(prefix); ++at) {
    if (lapsed(at->second.subject_id) == nullptr) events.emplace_back(AlarmCleared{at->first});
  }
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    if (!job->guarantee->at_risk() || state.alarms->contains(prefix + to_string(id))) continue;
    events.emplace_back(AlarmRaised{guarantee_alarm(*job, {})});
  }
  return events;
}

}  // namespace railweave::control
