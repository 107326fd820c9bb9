#include "services/control/decide/maintenance.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

constexpr const char* kAlarmKind = "maintenance.jobsRemain";

std::string alarm_id(const GpuReservation& reservation) { return kAlarmKind + (":" + reservation.window.name); }

// Nodes all of whose GPUs are in the window.
std::vector<std::string> whole_nodes(const fabric::Topology& topology, const GpuReservation& reservation) {
  std::map<fabric::HostId, std::size_t> count;
  for (const auto gpu : reservation.window.gpus) ++count[topology.host(gpu)];
  std::vector<std::string> nodes;
  for (const auto& [host, gpus] : count) {
    if (gpus == topology.gpus(host).size()) nodes.emplace_back(topology.name(host));
  }
  return nodes;
}

bool any_held(const ClusterState& state, const GpuReservation& reservation) {
  const auto& topology = state.topology();
  return std::ranges::any_of(reservation.window.gpus, [&](fabric::GpuId gpu) {
    return (state.allocations[topology.host(gpu).index()].used >> topology.local_index(gpu) & 1U) != 0;
  });
}

Alarm jobs_remain(const ClusterState& state, const GpuReservation& reservation) {
  Alarm alarm{.kind = kAlarmKind,
              .subject_kind = "reservation",
              .subject_id = reservation.window.name,
              .subnet = {},
              .severity = AlarmSeverity::warning,
              .text = {},
              .jobs = {}};
  const auto& gpus = reservation.window.gpus;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->holds_gpus() || alarm.jobs.size() == Alarm::kMaxJobs) return alarm.jobs.size() < Alarm::kMaxJobs;
    const auto held = job->placement.held_gpus();
    if (std::ranges::any_of(held, [&](auto gpu) { return std::ranges::find(gpus, gpu) != gpus.end(); })) {
      alarm.jobs.push_back(to_string(job->id));
    }
    return true;
  });
  alarm.text = Message("", {"maintenance '", ReservationPart{reservation.window.name},
                            fmt::format("' has begun, and {}{} on its nodes: ", alarm.jobs.size(),
                                        alarm.jobs.size() == 1 ? " job runs" : " jobs run"),
                            job_part(alarm.jobs.front()),
                            std::string(alarm.jobs.size() > 1 ? ", ..." : "") +
                                "; railweave jobs repair JOB --node NODE moves its ranks"});
  return alarm;
}

}  // namespace

bool begins(const GpuReservation& reservation) {
  return reservation.window.kind == scheduler::QueueWindow::Kind::maintenance && !reservation.begun;
}

std::vector<EventBody> next_maintenance(const ClusterState& state, std::int64_t now_us) {
  std::vector<EventBody> events;
  for (const auto& [name, reservation] : *state.reservations) {
    if (begins(reservation) && reservation.window.from_us <= now_us) {
      MaintenanceBegan began{name, {}};
      for (auto& node : whole_nodes(state.topology(), reservation)) {
        if (!state.drains->contains({DrainKind::node, node})) began.drained.push_back(std::move(node));
      }
      for (const auto& node : began.drained) {
        events.emplace_back(DrainRequested{{DrainKind::node, node}, "maintenance '" + name + "'", true});
      }
      events.insert(events.begin(), EventBody{std::move(began)});
      if (any_held(state, reservation)) events.emplace_back(AlarmRaised{jobs_remain(state, reservation)});
      return events;
    }
    if (reservation.begun && state.alarms->contains(alarm_id(reservation)) && !any_held(state, reservation)) {
      events.emplace_back(AlarmCleared{alarm_id(reservation)});
      return events;
    }
  }
  return events;
}

void add_maintenance_end(const ClusterState& state, const GpuReservation& reservation, std::vector<EventBody>& events) {
  for (const auto& node : reservation.drained) {
    const DrainTarget target{DrainKind::node, node};
    if (state.drains->contains(target)) {
      events.emplace_back(DrainCleared{target, "maintenance '" + reservation.window.name + "' is over"});
    }
  }
  if (state.alarms->contains(alarm_id(reservation))) events.emplace_back(AlarmCleared{alarm_id(reservation)});
}

}  // namespace railweave::control
