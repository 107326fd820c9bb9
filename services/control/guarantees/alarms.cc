#include "services/control/guarantees/alarms.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/job_ports.h"

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

Message subject(const Job& job) { return {"", {JobPart{job.id.number()}, " of ", TenantPart{job.spec.tenant}}}; }

}  // namespace

Alarm guarantee_alarm(const Job& job, const std::string& remedy) {
  const JobGuarantee& guarantee = *job.guarantee;
  Alarm alarm;
  alarm.kind = kGuaranteeAlarm;
  alarm.subject_kind = "job";
  alarm.subject_id = to_string(job.id);
  alarm.severity = AlarmSeverity::critical;
  alarm.text = subject(job) +
               (" does not get its guaranteed " + rate_text(guarantee.rate) + " at each port in class " +
                guarantee.qos_class + ": ") +
               guarantee.reason;
  if (!remedy.empty()) alarm.text += "; " + remedy;
  alarm.jobs = {alarm.subject_id};
  return alarm;
}

namespace {

std::map<std::string, Alarm> remarked_alarms(const ClusterState& state) {
  std::map<std::string, Alarm> alarms;
  for (const JobId id : *state.relabelled) {
    if (!state.guaranteed->contains(id)) continue;
    const JobPtr job = state.jobs.find(id);
    Alarm alarm{.kind = kRemarkedAlarm, .subject_kind = "job", .subject_id = to_string(id)};
    alarm.text = subject(*job) + (" may send with service levels that it was started with, and not "
                                  "with that of " +
                                  job->guarantee->qos_class +
                                  " or of its own lane: its guarantee is planned only until its ranks "
                                  "start again");
    alarm.jobs = {alarm.subject_id};
    alarms.emplace(alarm.id(), std::move(alarm));
  }
  return alarms;
}

// Of subnets that were programmed and are only watched now.
std::map<std::string, Alarm> unkept_alarms(const ClusterState& state) {
  std::map<std::string, Alarm> alarms;
  const auto& t = state.topology();
  for (const auto& [subnet, limits] : *state.port_limits) {
    if (state.mode(subnet) != SubnetMode::observe) continue;
    Alarm alarm{.kind = kUnkeptAlarm, .subject_kind = "subnet", .subject_id = subnet};
    std::size_t jobs = 0;
    for (const JobId id : *state.guaranteed) {
      const JobPtr job = state.jobs.find(id);
      if (job->guarantee->at_risk()) continue;
      const auto ports = job_ports(*state.placement_fabric, job->placement.gpu_of_rank);
      const bool is_in_it = std::ranges::any_of(
          ports, [&](fabric::PortId port) { return t.subnet(port) && t.name(t.subnet(port)) == subnet; });
      if (is_in_it && ++jobs <= Alarm::kMaxJobs) alarm.jobs.push_back(to_string(id));
    }
    if (jobs == 0) continue;
    alarm.text = fmt::format(
        "subnet {} is in observe mode: the classes, lanes and filters that {}{} on are not looked after there any "
        "more: railweave subnets mode {} direct",
        subnet, jobs, jobs == 1 ? " guarantee counts" : " guarantees count", subnet);
    alarms.emplace(alarm.id(), std::move(alarm));
  }
  return alarms;
}

// So that those that stand of the kind are these.
void bring_to(const ClusterState& state, const char* kind, std::map<std::string, Alarm> wanted,
              std::vector<EventBody>& events) {
  for_each_of(state, kind, [&](const std::string& id, const Alarm& alarm) {
    const auto at = wanted.find(id);
    if (at == wanted.end()) {
      events.emplace_back(AlarmCleared{id});
    } else if (at->second.text == alarm.text) {
      wanted.erase(at);
    }
  });
  for (auto& [id, alarm] : wanted) events.emplace_back(AlarmRaised{std::move(alarm)});
}

}  // namespace

std::vector<EventBody> guarantee_alarm_changes(const ClusterState& state) {
  std::vector<EventBody> events;
  bring_to(state, kRemarkedAlarm, remarked_alarms(state), events);
  bring_to(state, kUnkeptAlarm, unkept_alarms(state), events);
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
    if (state.alarms->contains(fmt::format("{}:{}", kGuaranteeAlarm, to_string(id)))) continue;
    events.emplace_back(AlarmRaised{guarantee_alarm(*job, {})});
  }
  return events;
}

void raise_damage_alarm(const ClusterState& state, const Job& job, const Message& damage,
                        std::vector<EventBody>& events) {
  Alarm alarm;
  alarm.kind = kDamageAlarm;
  alarm.subject_kind = "job";
  alarm.subject_id = to_string(job.id);
  alarm.severity = AlarmSeverity::critical;
  alarm.text = subject(job) + " is damaged: " + damage;
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
