// What must hold when nothing has gone wrong for a while.
#include <algorithm>

#include "services/control/decide/queue_runner.h"
#include "tests/simulation/simulation.h"
#include "tests/simulation/table_walk.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

void Simulation::calm_down(Random& random) {
  if (!fault_.empty()) return;
  leader_->awaits.disarm();
  fabric_.lose(0, 1);
  fabric_.delay_us.clear();
  fabric_.broken_until_us = 0;
  store_.faults_left = 0;
  for (const int sw : fabric_.switches()) fabric_.subnet.node(sw).silent = false;
  const bool joins = !random.one_in(3);
  for (auto& cable : fabric_.cables) {
    if (joins) fabric_.set(cable, true, !random.one_in(3));
  }
  retry_submissions();
  (void)ask(SetSubnetMode{SimulatedFabric::kSubnet, SubnetMode::direct, "", {}});
  std::string wrong = "it was not calm";
  constexpr unsigned kPatience = 150;  // a look at every switch, and the longest backoff, several times
  unsigned extra = random.one_in(6) ? 40 : 0;
  for (unsigned seconds = 0; seconds < kPatience && fault_.empty(); ++seconds) {
    step(1'000);
    wrong = judge();
    if (wrong.empty() && seconds > 2 && extra-- == 0) break;
    if (!wrong.empty()) extra = std::min(extra, 40U);
    if (extra > 40) extra = 0;
  }
  if (!wrong.empty()) fail(wrong);
  fabric_.unheard.clear();
  if (fault_.empty()) fail(auditor_.compare(*leader_->loop().state(), "the published state"));
  trace_.note("calm");
}

std::string Simulation::judge() {
  if (leader_->loop().phase() != Phase::ready) return "the service is not ready";
  if (auto fault = judge_fabric(); !fault.empty()) return fault;
  return judge_queue();
}

// The first cycle of a queue that remembers nothing starts no job that the service's own has left waiting.
std::string Simulation::judge_queue() {
  const ClusterState& state = auditor_.state();
  if (state.seq != leader_->loop().state()->seq) return "the published state is not the newest";
  PlacerCache placers;
  QueueRunner fresh(placers, 0);
  for (const auto& event : fresh.run(state, leader_->unix_us())) {
    if (const auto* placed = std::get_if<JobPlaced>(&event)) {
      return to_string(placed->job->id) + " waits although it could run";
    }
  }
  // Without the queue's code: a job of one GPU, first of all, beside a GPU that is free.
  JobPtr first;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->state == JobState::queued && first == nullptr) first = job;
    return true;
  });
  if (first == nullptr || state.jobs.queued() != 1 || !state.reservations->empty()) return {};
  const auto& tenant = state.tenants->at(first->spec.tenant);
  if (rank_count(first->spec.parallelism) != 1 || first->not_before_us > leader_->unix_us()) return {};
  if (tenant.quota_gpus || state.contracts->contains(tenant.name)) return {};
  for (const auto gpu : state.topology().gpus()) {
    const auto& host = state.allocations[state.topology().host(gpu).index()];
    const auto bit = state.topology().local_index(gpu);
    if (host.unavailable || ((host.used | host.closed) >> bit & 1U) != 0) continue;
    return to_string(first->id) + " waits beside the free GPU " + gpu_text(state.topology(), gpu);
  }
  return {};
}

std::string Simulation::judge_fabric() {
  const auto status = leader_->subnet();
  const ClusterState& state = auditor_.state();
  const std::string phase(to_string(status->phase));
  const auto reached = fabric_.reached_from(leader_->station());
  std::string alarms;
  for (const auto& [id, alarm] : *state.alarms) alarms += "\n  " + alarm.kind + ": " + alarm.text;
  if (fabric_.subnet.node(leader_->station()).ports[1].peer < 0) {
    return status->phase == SubnetPhase::blind ? "" : "the subnet cannot be seen and is called " + phase;
  }
  for (const int sw : fabric_.switches()) {
    if (!reached.contains(sw) && alarms.find(fabric_.name(sw)) == std::string::npos) {
      return fabric_.name(sw) + " is away and not named" + alarms;
    }
  }
  const Walked walked = walk_tables(fabric_);
  if (!walked.silent_loop.empty()) return "packets loop: " + walked.silent_loop;
  if (!walked.credits.empty()) return "links wait for each other: " + walked.credits;
  std::set<const SimulatedFabric::Cable*> unused;
  for (const auto& cable : fabric_.cables) {
    const bool is_drained = std::ranges::any_of(*state.drains, [&](const auto& entry) {
      const auto& [target, drain] = entry;
      if (target.kind == DrainKind::link) return target.id == fabric_.link_text(cable);
      if (target.kind != DrainKind::network_switch) return false;
      return target.id == to_string(Guid(fabric_.subnet.node(cable.a).guid)) ||
             target.id == to_string(Guid(fabric_.subnet.node(cable.b).guid));
    });
    if (is_drained) unused.insert(&cable);
    const bool is_seen = reached.contains(cable.a) || (fabric_.is_switch(cable.b) && reached.contains(cable.b));
    const auto link = state.topology().find_link(fabric_.link_text(cable));
    if (is_seen && cable.is_up != (state.view.state(link) == fabric::LinkState::up)) {
      return fabric_.link_text(cable) + " is not known as it is";
    }
  }
  if (status->phase != SubnetPhase::synced) return "not synced but " + phase + ": " + status->problem + alarms;
  for (const auto& pair : joined_pairs(fabric_, unused)) {
    if (walked.delivered.contains(pair) || !reached.contains(pair.first) || !reached.contains(pair.second)) continue;
    return fabric_.name(pair.first) + " does not reach " + fabric_.name(pair.second) +
           ", and the subnet is called synced" + alarms;
  }
  // What a switch holds that is away is not known.
  const bool all_are_there = std::ranges::all_of(fabric_.switches(), [&](int sw) { return reached.contains(sw); });
  for (const auto& [target, drain] : *state.drains) {
    if (!all_are_there) break;
    if (!changes_routes(target.kind) || drain.state == DrainState::drained) continue;
    // That of a switch waits for the jobs on its hosts as well.
    if (target.kind == DrainKind::network_switch && state.free_gpus != state.topology().gpus().size()) continue;
    return to_string(target) + " is not drained, and the subnet is called synced";
  }
  return {};
}

}  // namespace railweave::simulation
