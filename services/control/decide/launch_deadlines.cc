#include "services/control/decide/launch_deadlines.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

constexpr std::size_t kMaxAtOnce = 1'000;  // jobs in one step

std::string within(std::int64_t us) { return " within " + duration_text(us / 1'000'000); }

EventBody expired(const Job& job, std::int64_t now_us) {
  const Launch& launch = *job.launch;
  Message reason("launch.notAccepted", {"its launcher did not accept the offer" + within(launch.terms.accept_us)});
  if (!launch.requeues) return JobEnded{job.id, JobState::cancelled, std::move(reason)};
  return offer_expired(job, std::move(reason), now_us);
}

EventBody overdue_step(const Job& job, std::int64_t now_us) {
  const Launch& launch = *job.launch;
  switch (launch.phase) {
    case LaunchPhase::offered:
      return expired(job, now_us);
    case LaunchPhase::accepted:
      return JobReleasing{
          job.id,
          launch.requeues ? JobState::queued : JobState::cancelled,
          {},
          0,
          Message(std::string(kNotRunning), {"its processes did not run" + within(launch.terms.run_us)})};
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
  alarm.text = job.is_releasing()
                   ? fmt::format(
                         "{} was to free {} GPUs on {} nodes, and its launcher has not said that they are free; no "
                         "other job starts "
                         "there. Look at its processes on these nodes, end them, then: railweave jobs freed {}",
                         id, job.placement.held_gpus().size(), job.nodes.size() - job.launch->freed.size(), id)
                   : fmt::format(
                         "{} was repaired, and its launcher has not said that the {} GPUs that its ranks left, {} "
                         "first, are free; no other job "
                         "starts there. Look at its processes there, end them, then: railweave jobs freed {}",
                         id, job.launch->left.size(), job.launch->left.front(), id);
  alarm.jobs = {id};
  return {std::move(alarm)};
}

bool is_overdue(const ClusterState& state, const std::string& job_id) {
  const auto id = parse_job_id(job_id);
  const JobPtr job = id ? state.jobs.find(*id) : nullptr;
  return job != nullptr && job->holds_gpus() && job->launch && job->launch->overdue;
}

// Alarms are at most kMaxAlarms: one that has no room is raised when there is.
std::vector<EventBody> alarm_changes(const ClusterState& state, const std::set<JobId>& overdue) {
  std::vector<EventBody> events;
  const std::string prefix = std::string(LaunchDeadlines::kAlarm) + ":";
  for (auto at = state.alarms->lower_bound(prefix); at != state.alarms->end() && at->first.starts_with(prefix); ++at) {
    if (!is_overdue(state, at->second.subject_id)) events.emplace_back(AlarmCleared{at->first});
  }
  std::size_t room = kMaxAlarms - std::min(kMaxAlarms, state.alarms->size());
  for (const JobId id : overdue) {
    if (room == 0) break;
    if (state.alarms->contains(fmt::format("{}{}", prefix, to_string(id)))) continue;
    events.emplace_back(not_freed(*state.jobs.find(id)));
    --room;
  }
  return events;
}

}  // namespace

OfferExpired offer_expired(const Job& job, Message reason, std::int64_t now_us) {
  const std::uint64_t doublings = std::min<std::uint64_t>(job.launch->expired, 10);
  const std::int64_t pause_us =
      std::min(LaunchDeadlines::kFirstPause_us << doublings, LaunchDeadlines::kLongestPause_us);
  return {job.id, now_us + pause_us, std::move(reason)};
}

// What was, in the state before, comes out; what is comes in. A state that is not a later one than the last, as after a store that
// did not take it, differs like any other.
void LaunchDeadlines::follow(const JobTable& jobs) {
  const auto waits = [](const JobPtr& job) { return job != nullptr && job->holds_gpus() && job->launch; };
  jobs.visit_changed(jobs_, [&](const JobPtr& was, const JobPtr& is) {
    if (waits(was)) {
      by_deadline_.erase({was->launch->deadline_us, was->id});
      overdue_.erase(was->id);
    }
    if (!waits(is)) return;
    if (is->launch->deadline_us != 0) by_deadline_.emplace(is->launch->deadline_us, is->id);
    if (is->launch->overdue) overdue_.insert(is->id);
  });
  jobs_ = jobs;
}

std::vector<EventBody> LaunchDeadlines::due(const ClusterState& state, std::int64_t now_us) const {
  std::vector<JobId> ids;
  for (const auto& [at_us, id] : by_deadline_) {
    if (at_us > now_us || ids.size() == kMaxAtOnce) break;
    ids.push_back(id);
  }
  std::ranges::sort(ids);
  std::vector<EventBody> events;
  for (const JobId id : ids) events.push_back(overdue_step(*state.jobs.find(id), now_us));
  return events;
}

std::vector<EventBody> LaunchDeadlines::next(const ClusterState& state, std::int64_t now_us) {
  if (checked_ == state.queue_version && due_in_us(now_us).value_or(1) > 0) return {};
  follow(state.jobs);
  std::vector<EventBody> events = due(state, now_us);
  if (events.empty()) events = alarm_changes(state, overdue_);
  if (events.empty()) checked_ = state.queue_version;
  return events;
}

std::optional<std::int64_t> LaunchDeadlines::due_in_us(std::int64_t now_us) const {
  if (by_deadline_.empty()) return std::nullopt;
  return by_deadline_.begin()->first - now_us;
}

}  // namespace railweave::control
