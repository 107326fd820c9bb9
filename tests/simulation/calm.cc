// What must hold when nothing has gone wrong for a while.
#include <algorithm>

#include "services/control/decide/queue_runner.h"
#include "tests/simulation/simulation.h"
#include "tests/simulation/table_walk.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

void Simulation::calm_down(Random& random) {
  if (!fault_.empty()) return;
  for (auto& machine : machines_) {
    if (!machine.service) continue;
    machine.service->awaits.disarm();
    machine.service->journal().reconnect();
  }
  fabric_.heal();
  store_.faults_left = 0;
  const bool joins = !random.one_in(3);
  for (const auto& network : fabric_.subnets()) {
    for (auto& cable : network->cables) {
      if (joins) network->set(cable, true, !random.one_in(3));
    }
  }
  await_leader();
  retry_submissions();
  for (const auto& network : fabric_.subnets()) {
    (void)ask(SetSubnetMode{network->name(), SubnetMode::direct, "", {}});
  }
  std::string wrong = "it was not calm";
  constexpr unsigned kPatience = 150;  // a look at every switch, and the longest backoff, several times
  unsigned extra = random.one_in(6) ? 40 : 0;
  for (unsigned seconds = 0; seconds < kPatience && fault_.empty(); ++seconds) {
    run_launchers(random, true);
    step(1'000);
    wrong = judge();
    if (wrong.empty() && seconds > 2 && extra-- == 0) break;
    if (!wrong.empty()) extra = std::min(extra, 40U);
    if (extra > 40) extra = 0;
  }
  if (!wrong.empty()) fail(wrong);
  for (const auto& network : fabric_.subnets()) network->unheard.clear();
  for (const auto& machine : machines_) {
    if (fault_.empty()) fail(auditor_.compare(*machine.service->loop().state(), "the published state"));
  }
  trace_.note("calm");
}

std::string Simulation::judge() {
  Service* const service = leader();
  if (service == nullptr) return "none leads";
  if (service->loop().phase() != Phase::ready) return "the service is not ready";
  for (const auto& machine : machines_) {
    if (!machine.service) return "a machine has no service";
    if (machine.service->loop().state()->seq != auditor_.state().seq) return "a published state is not the newest";
  }
  for (const auto& network : fabric_.subnets()) {
    if (auto fault = judge_subnet(*service, *network); !fault.empty()) return network->name() + ": " + fault;
  }
  return judge_queue(*service);
}

// The first cycle of a queue that remembers nothing starts no job that the service's own has left waiting.
std::string Simulation::judge_queue(Service& service) {
  const ClusterState& state = auditor_.state();
  PlacerCache placers;
  QueueRunner fresh(placers, 0);
  for (const auto& event : fresh.run(state, service.unix_us())) {
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
  if (rank_count(first->spec.parallelism) != 1 || first->not_before_us > service.unix_us()) return {};
  if (tenant.quota_gpus || state.contracts->contains(tenant.name)) return {};
  for (const auto gpu : state.topology().gpus()) {
    const auto& host = state.allocations[state.topology().host(gpu).index()];
    const auto bit = state.topology().local_index(gpu);
    if (host.unavailable || ((host.used | host.closed) >> bit & 1U) != 0) continue;
    return to_string(first->id) + " waits beside the free GPU " + gpu_text(state.topology(), gpu);
  }
  return {};
}

std::string Simulation::judge_subnet(Service& service, SimulatedSubnet& network) {
  const auto status = service.subnet(network);
  const int station = service.station(network);
  const ClusterState& state = auditor_.state();
  const std::string phase(to_string(status->phase));
  const auto reached = network.reached_from(station);
  std::string alarms;
  for (const auto& [id, alarm] : *state.alarms) alarms += "\n  " + alarm.kind + ": " + alarm.text.whole_text();
  if (network.subnet.node(station).ports[1].peer < 0) {
    return status->phase == SubnetPhase::blind ? "" : "the subnet cannot be seen and is called " + phase;
  }
  for (const int sw : network.switches()) {
    if (!reached.contains(sw) && alarms.find(network.name(sw)) == std::string::npos) {
      return network.name(sw) + " is away and not named" + alarms;
    }
  }
  const Walked walked = walk_tables(network);
  if (!walked.silent_loop.empty()) return "packets loop: " + walked.silent_loop;
  if (!walked.credits.empty()) return "links wait for each other: " + walked.credits;
  std::set<const SimulatedSubnet::Cable*> unused;
  for (const auto& cable : network.cables) {
    const bool is_drained = std::ranges::any_of(*state.drains, [&](const auto& entry) {
      const auto& [target, drain] = entry;
      if (target.kind == DrainKind::link) return target.id == network.link_text(cable);
      if (target.kind != DrainKind::network_switch) return false;
      return target.id == to_string(Guid(network.subnet.node(cable.a).guid)) ||
             target.id == to_string(Guid(network.subnet.node(cable.b).guid));
    });
    if (is_drained) unused.insert(&cable);
    const bool is_seen = reached.contains(cable.a) || (network.is_switch(cable.b) && reached.contains(cable.b));
    const auto link = state.topology().find_link(network.link_text(cable));
    if (is_seen && cable.is_up != (state.view.state(link) == fabric::LinkState::up)) {
      return network.link_text(cable) + " is not known as it is";
    }
  }
  if (status->phase != SubnetPhase::synced) return "not synced but " + phase + ": " + status->problem + alarms;
  for (const auto& pair : joined_pairs(network, unused)) {
    if (walked.delivered.contains(pair) || !reached.contains(pair.first) || !reached.contains(pair.second)) continue;
    return network.name(pair.first) + " does not reach " + network.name(pair.second) +
           ", and the subnet is called synced" + alarms;
  }
  // What a switch holds that is away is not known.
  const bool all_are_there = std::ranges::all_of(network.switches(), [&](int sw) { return reached.contains(sw); });
  for (const auto& [target, drain] : *state.drains) {
    if (!all_are_there) break;
    if (!network.has(target)) continue;
    if (!changes_routes(target.kind) || drain.state == DrainState::drained) continue;
    // That of a switch waits for the jobs on its hosts as well.
    if (target.kind == DrainKind::network_switch && state.free_gpus != state.topology().gpus().size()) continue;
    return to_string(target) + " is not drained, and the subnet is called synced";
  }
  return {};
}

}  // namespace railweave::simulation
