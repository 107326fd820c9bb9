#include "services/control/guarantees/alarms.h"

#include <utility>

#include "fabric/base/rate_text.h"

namespace railweave::control {

namespace {

// The alarms of a kind.
template <class Visit>
void for_each_of(const ClusterState& state, const char* kind, Visit visit) {
  const std::string prefix = std::string(kind) + ":";
  for (auto at = state.alarms->lower_bound(prefix); at != state.alarms->end() && at->first.starts_with(prefix); ++at) {
    visit(at->first, at->second);
  }
}

}  // namespace

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
  for_each_of(state, kGuaranteeAlarm, [&](const std::string& id, const Alarm& alarm) {
    if (lapsed(alarm.subject_id) == nullptr) events.emplace_back(AlarmCleared{id});
  });
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    if (!job->guarantee->at_risk()) continue;
    if (state.alarms->contains(std::string(kGuaranteeAlarm) + ":" + to_string(id))) continue;
    events.emplace_back(AlarmRaised{guarantee_alarm(*job, {})});
  }
  return events;
}

void raise_damage_alarm(const ClusterState& state, const Job& job, const std::string& damage,
                        std::vector<EventBody>& events) {
  Alarm alarm;
  alarm.kind = kDamageAlarm;
  alarm.subject_kind = "job";
  alarm.subject_id = to_string(job.id);
  alarm.severity = AlarmSeverity::critical;
  alarm.text = alarm.subject_id + " of " + job.spec.tenant + " is damaged: " + damage;
  alarm.jobs = {alarm.subject_id};
  const auto standing = state.alarms->find(alarm.id());
  if (standing != state.alarms->end() && standing->second.text == alarm.text) return;
  events.emplace_back(AlarmRaised{std::move(alarm)});
}

std::vector<EventBody> cleared_damage_alarms(const ClusterState& state) {
  std::vector<EventBody> events;
  for_each_of(state, kDamageAlarm, [&](const std::string& id, const Alarm& alarm) {
    const auto number = parse_job_id(alarm.subject_id);
    const JobPtr job = number ? state.jobs.find(*number) : nullptr;
    if (job == nullptr || job->damage.empty()) events.emplace_back(AlarmCleared{id});
  });
  return events;
}

}  // namespace railweave::control
