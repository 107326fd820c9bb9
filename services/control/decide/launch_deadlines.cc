#include "services/control/decide/launch_deadlines.h"

#include <algorithm>
#include <utility>

#include "fabric/base/text/time_text.h"

namespace railweave::control {
namespace {

constexpr std::size_t kMostAtOnce = 1'000;  // jobs in one step

std::string within(std::int64_t us) { return " within " + duration_text(us / 1'000'000); }

EventBody expired(const Job& job, std::int64_t now_us) {
  const Launch& launch = *job.launch;
  std::string reason = "its launcher did not accept the offer" + within(launch.terms.accept_us);
  if (!launch.requeues) return JobEnded{job.id, JobState::cancelled, std::move(reason)};
  const std::uint64_t doublings = std::min<std::uint64_t>(launch.expired, 10);
  const std::int64_t pause_us =
      std::min(LaunchDeadlines::kFirstPause_us << doublings, LaunchDeadlines::kLongestPause_us);
  return OfferExpired{job.id, now_us + pause_us, std::move(reason)};
}

EventBody overdue_step(const Job& job, std::int64_t now_us) {
  const Launch& launch = *job.launch;
  switch (launch.phase) {
    case LaunchPhase::offered:
      return expired(job, now_us);
    case LaunchPhase::accepted:
      return JobReleasing{job.id,
                          launch.requeues ? JobState::queued : JobState::cancelled,
                          {},
                          0,
                          "its processes did not run" + within(launch.terms.run_us)};
    default:
      return JobOverdue{job.id};
  }
}

AlarmRaised not_freed(const Job& job) {
  const std::string id = to_string(job.id);
  Alarm alarm;
  alarm.kind = LaunchDeadlines::kAlarm;
  alarm.subject_kind = "job";
  alarm.subject_id = id;
  alarm.severity = AlarmSeverity::critical;
  alarm.text = id + " was to free " + std::to_string(job.placement.held_gpus().size()) + " GPUs on " +
               std::to_string(job.nodes.size() - job.launch->freed.size()) +
               " nodes, and its launcher has not said that they are free; no other job starts there. Look at its "
               "processes on these nodes, end them, then: railweave jobs freed " +
               id;
  alarm.jobs = {id};
  return {std::move(alarm)};
}

bool is_overdue(const ClusterState& state, const std::string& job_id) {
  const auto id = parse_job_id(job_id);
  const JobPtr job = id ? state.jobs.find(*id) : nullptr;
  return job != nullptr && job->is_releasing() && job->launch->overdue;
}

// Alarms are at most kMaxAlarms: one that has no room is raised when there is.
std::vector<EventBody> alarm_changes(const ClusterState& state, const std::vector<JobPtr>& overdue) {
  std::vector<EventBody> events;
  const std::string prefix = std::string(LaunchDeadlines::kAlarm) + ":";
  for (auto at = state.alarms->lower_bound(prefix); at != state.alarms->end() && at->first.starts_with(prefix); ++at) {
    if (!is_overdue(state, at->second.subject_id)) events.emplace_back(AlarmCleared{at->first});
  }
  std::size_t room = kMaxAlarms - std::min(kMaxAlarms, state.alarms->size());
  for (const auto& job : overdue) {
    if (room == 0) break;
    if (state.alarms->contains(prefix + to_string(job->id))) continue;
    events.emplace_back(not_freed(*job));
    --room;
  }
  return events;
}

}  // namespace

std::vector<EventBody> LaunchDeadlines::next(const ClusterState& state, std::int64_t now_us) {
  if (checked_ == state.queue_version && (due_us_ == 0 || due_us_ > now_us)) return {};
  std::vector<EventBody> events;
  std::vector<JobPtr> overdue;
  std::int64_t first_us = 0;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->holds_gpus() || !job->launch) return true;
    if (job->launch->overdue) overdue.push_back(job);
    const std::int64_t at_us = job->launch->deadline_us;
    if (at_us == 0) return true;
    if (at_us <= now_us) {
      events.push_back(overdue_step(*job, now_us));
    } else if (first_us == 0 || at_us < first_us) {
      first_us = at_us;
    }
    return events.size() < kMostAtOnce;
  });
  if (!events.empty()) return events;
  events = alarm_changes(state, overdue);
  if (!events.empty()) return events;
  checked_ = state.queue_version;
  due_us_ = first_us;
  return {};
}

std::optional<std::int64_t> LaunchDeadlines::due_in_us(std::int64_t now_us) const {
  if (due_us_ == 0) return std::nullopt;
  return due_us_ - now_us;
}

}  // namespace railweave::control
