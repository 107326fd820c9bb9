#include "services/control/codec/incident_rows.h"

#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

// An alarm is raised again when its text changes: the time that it was raised first tells one incident from the next.
db::ReportRow incident_row(const Alarm& alarm) {
  return {"fabric_incidents",
          {{"id", fmt::format("{} {}", alarm.id(), alarm.raised_us)},
           {"time_us", alarm.raised_us},
           {"kind", alarm.kind},
           {"severity", std::string(railweave::to_text(alarm.severity))},
           {"subject", alarm.subject_kind + " " + alarm.subject_id},
           {"summary", alarm.text.whole_text()},
           {"jobs", fmt::format("{}", fmt::join(alarm.jobs, " "))}}};
}

db::ReportRow breach_row(const Job& job, const JobGuarantee& guarantee) {
  const std::string id = control::to_string(job.id);
  return {"guarantee_breaches",
          {{"id", fmt::format("{} {}", id, guarantee.at_risk_since_us)},
           {"job", id},
           {"tenant", job.spec.tenant},
           {"class", guarantee.qos_class},
           {"guaranteed_mbps", static_cast<std::int64_t>(guarantee.rate.value())},
           {"began_at_us", guarantee.at_risk_since_us},
           {"reason", guarantee.reason.whole_text()}}};
}

db::ReportRow ended(db::ReportRow row, std::int64_t time_us) {
  row.columns.emplace_back("ended_at_us", time_us);
  return row;
}

// The job whose breach may end with the event.
std::optional<JobId> job_of(const EventBody& body) {
  if (const auto* event = std::get_if<GuaranteeChanged>(&body)) {
    const bool still = event->guarantee && event->guarantee->at_risk();
    return still ? std::nullopt : std::optional(event->job);
  }
  if (const auto* event = std::get_if<JobEnded>(&body)) return event->id;
  if (const auto* event = std::get_if<JobEvicted>(&body)) return event->id;
  if (const auto* event = std::get_if<OfferExpired>(&body)) return event->id;
  return std::nullopt;
}

}  // namespace

void add_begun(const Event& event, const ClusterState& after, std::vector<db::ReportRow>& rows) {
  if (const auto* raised = std::get_if<AlarmRaised>(&event.body)) {
    const auto alarm = after.alarms->find(raised->alarm.id());
    if (alarm != after.alarms->end()) rows.push_back(incident_row(alarm->second));
  } else if (const auto* changed = std::get_if<GuaranteeChanged>(&event.body)) {
    if (!changed->guarantee || !changed->guarantee->at_risk()) return;
    rows.push_back(breach_row(*after.jobs.find(changed->job), *changed->guarantee));
  }
}

std::vector<db::ReportRow> ended_rows(const Event& event, const ClusterState& before) {
  if (const auto* cleared = std::get_if<AlarmCleared>(&event.body)) {
    const auto alarm = before.alarms->find(cleared->id);
    if (alarm == before.alarms->end()) return {};
    return {ended(incident_row(alarm->second), event.time_us)};
  }
  const auto id = job_of(event.body);
  const JobPtr job = id ? before.jobs.find(*id) : nullptr;
  if (job == nullptr || !job->guarantee || !job->guarantee->at_risk()) return {};
  return {ended(breach_row(*job, *job->guarantee), event.time_us)};
}

}  // namespace railweave::api
