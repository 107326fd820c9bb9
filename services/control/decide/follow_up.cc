#include "services/control/decide/follow_up.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "fabric/topology/site_link_name.h"
#include "services/control/decide/cut_off_alarms.h"
#include "services/control/decide/maintenance.h"
#include "services/control/decide/site_link_alarms.h"
#include "services/control/guarantees/coverage.h"
#include "services/control/guarantees/job_repair.h"
#include "services/control/guarantees/recheck.h"
#include "services/control/guarantees/repair.h"
#include "services/control/views/site_link_jobs.h"

namespace railweave::control {
namespace {

bool is_empty(const ClusterState& state, const DrainTarget& target) {
  const auto& topology = state.topology();
  if (target.kind == DrainKind::site_link) {
    const auto link = fabric::find_site_link(topology, target.id);
    return !link || needing(jobs_over(state, link)).empty();
  }
  const auto host = topology.find_host(node_of(target));
  if (!host) return true;
  const auto used = state.allocations[host.index()].used;
  if (!jobs_that_left(*state.left_gpus, target.id).empty()) return false;
  if (target.kind == DrainKind::node) return used == 0;
  const auto gpu = find_gpu(topology, target.id);
  return !gpu || (used >> topology.local_index(gpu) & 1U) == 0;
}

constexpr const char* kQueueAlarm = "queue.notRun";

bool has_queue_alarm(const ClusterState& state) { return state.alarms->contains(std::string(kQueueAlarm) + ":queue"); }

AlarmRaised queue_alarm(const ClusterState& state, std::int64_t took_us) {
  Alarm alarm;
  alarm.kind = kQueueAlarm;
  alarm.subject_kind = alarm.subject_id = "queue";
  alarm.severity = AlarmSeverity::critical;
  alarm.text = fmt::format(
      "the queue has not run for {} s, although {} jobs wait and {} GPUs are free; its last cycle took {} ms: fewer "
      "waiting jobs make it shorter",
      QueueRunner::kOverdue_us / 1'000'000, state.jobs.queued(), state.free_gpus, took_us / 1'000);
  return {std::move(alarm)};
}

}  // namespace

std::vector<EventBody> FollowUp::next(const ClusterState& state, std::int64_t now_us) {
  auto events = step(state, now_us);
  add_guarantee_changes(state, events, placers_.guarantees(), now_us);
  return events;
}

std::vector<EventBody> FollowUp::step(const ClusterState& state, std::int64_t now_us) {
  std::vector<EventBody> events;
  for (const auto& [name, reservation] : *state.reservations) {
    if (reservation.window.to_us > now_us) continue;
    add_maintenance_end(state, reservation, events);
    events.emplace_back(ReservationRemoved{name, true});
  }
  if (!events.empty()) return events;
  events = next_maintenance(state, now_us);
  if (!events.empty()) return events;

  for (const auto& [alarm, mute] : *state.mutes) {
    if (mute.until_us <= now_us) events.emplace_back(AlarmMuted{alarm, 0, "its time is over"});
  }
  if (!events.empty()) return events;
  events = launch_deadlines_.next(state, now_us);
  if (!events.empty()) return events;
  // Before the queue runs: who moves is placed first, then those for whom it made room.
  events = next_moves(state, placers_, now_us);
  if (!events.empty()) return events;
  if (alarms_checked_ != state.view_version) {
    events = site_link_alarm_changes(state);
    auto cut_off = cut_off_alarm_changes(state);
    events.insert(events.end(), std::make_move_iterator(cut_off.begin()), std::make_move_iterator(cut_off.end()));
    if (!events.empty()) return events;
    alarms_checked_ = state.view_version;
  }
  if (damage_checked_ != state.queue_version || (damage_due_us_ != 0 && damage_due_us_ <= now_us)) {
    events = next_damage(state, placers_, now_us, damage_due_us_);
    if (!events.empty()) return events;
    damage_checked_ = state.queue_version;
  }
  if (risk_checked_ != state.queue_version) {
    if (auto costs = reroute_ ? other_routes_.next(state, placers_.guarantees()) : std::nullopt) {
      return with_alarm(std::move(*costs));
    }
    events = next_guarantee_repair(state, placers_, now_us);
    if (!events.empty()) return events;
    risk_checked_ = state.queue_version;
  }
  if (!coverage_ran_ && !placers_.guarantees().to_cover().empty()) {
    auto step = next_coverage(state, placers_.guarantees());
    coverage_ran_ = step.again;
    if (!step.events.empty()) return std::move(step.events);
  }
  if (!queue_ran_ && queue_.due(state, now_us)) {
    queue_ran_ = true;
    events = queue_.run(state, now_us);
    if (!events.empty()) return events;
  }
  events = automatic_moves_.next(state, *queue_.view(), placers_, now_us);
  if (!events.empty()) return events;
  if (queue_.overdue(state) != has_queue_alarm(state)) {
    if (has_queue_alarm(state)) return {AlarmCleared{std::string(kQueueAlarm) + ":queue"}};
    return {queue_alarm(state, queue_.view()->took_us)};
  }
  // A node's or GPU's drain is complete when its last job has ended, that of a link between sites when no job needs it.
  for (const auto& [target, drain] : *state.drains) {
    if (!changes_routes(target.kind) && drain.state != DrainState::drained && is_empty(state, target)) {
      events.emplace_back(DrainAdvanced{target, DrainState::drained});
    }
  }
  return events;
}

std::optional<std::int64_t> FollowUp::due_in_us(const ClusterState& state, std::int64_t now_us) const {
  if (!placers_.guarantees().to_cover().empty()) return 0;  // due between any two batches of commands
  auto in_us = queue_.due_in_us(state, now_us);
  const auto no_later_than = [&in_us](std::int64_t other_us) { in_us = std::min(in_us.value_or(INT64_MAX), other_us); };
  for (const auto& [name, reservation] : *state.reservations) {
    no_later_than(reservation.window.to_us - now_us);
    if (begins(reservation)) no_later_than(reservation.window.from_us - now_us);
  }
  for (const auto& [alarm, mute] : *state.mutes) no_later_than(mute.until_us - now_us);
  if (damage_due_us_ != 0) no_later_than(damage_due_us_ - now_us);
  if (const auto deadline_us = launch_deadlines_.due_in_us(now_us)) no_later_than(*deadline_us);
  if (const auto answer_us = moves_due_in_us(state, now_us)) no_later_than(*answer_us);
  if (const auto plan_us = automatic_moves_.due_in_us(state, *queue_.view(), now_us)) no_later_than(*plan_us);
  if (const auto overdue_us = queue_.overdue_in_us(state); overdue_us && !has_queue_alarm(state)) {
    no_later_than(*overdue_us);
  }
  return in_us;
}

}  // namespace railweave::control
