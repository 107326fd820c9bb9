// What a plan's acts do to a simulation.
#include <algorithm>

#include "services/control/decide/drain_preview.h"
#include "tests/simulation/simulation.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

void Simulation::act(const Act& act) {
  Random random(act.salt);
  retry_submissions();
  if (act.kind <= Act::Kind::queue_policy) return ask_something(act, random);
  if (act.kind <= Act::Kind::break_port) return disturb_fabric(act, random);
  disturb_service(act, random);
}

void Simulation::ask_something(const Act& act, Random& random) {
  std::vector<JobPtr> jobs;
  auditor_.state().jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->has_ended()) jobs.push_back(job);
    return true;
  });
  switch (act.kind) {
    case Act::Kind::submit:
      for (unsigned n = 1 + random.pick(3); n > 0; --n) submit_job(random);
      return;
    case Act::Kind::end_job:
      if (jobs.empty()) return;
      {
        const JobId id = random.any(jobs)->id;
        ask(EndJob{id, random.one_in(2) ? JobState::completed : JobState::cancelled, "", {}})->ends = id;
      }
      return;
    case Act::Kind::tenant: {
      Tenant tenant{.name = random.one_in(2) ? "gold" : "silver", .description = {}, .max_gpus = {}};
      if (random.one_in(2)) tenant.quota_gpus = 1 + random.pick(8);
      tenant.repair = random.one_in(2) ? RepairPolicy::apply : RepairPolicy::propose;
      tenant.repair_after_s = 1 + random.pick(20);
      tenant.max_priority = "high";
      (void)ask(PutTenant{tenant, {}});
      return;
    }
    case Act::Kind::contract: {
      scheduler::Contract contract{.tenant = random.one_in(3) ? "silver" : "gold",
                                   .guaranteed = RateMbps(4'000 * random.pick(5))};
      contract.survives_link_failure = random.one_in(4);
      (void)ask(PutContract{contract, {}, true});
      return;
    }
    case Act::Kind::clear_drain:
      if (auditor_.state().drains->empty()) return;
      (void)ask(ClearDrain{
          std::next(auditor_.state().drains->begin(), random.pick(auditor_.state().drains->size()))->first, ""});
      return;
    case Act::Kind::reservation:
      return put_reservation(random);
    case Act::Kind::mode:
      (void)ask(SetSubnetMode{fabric_.subnets()[random.pick(fabric_.subnets().size())]->name(),
                              random.one_in(2) ? SubnetMode::observe : SubnetMode::direct,
                              "",
                              {}});
      return;
    case Act::Kind::checkpoint:
      if (!jobs.empty()) (void)ask(CheckpointJob{random.any(jobs)->id, 0});
      return;
    case Act::Kind::launch:
      return run_launchers(random, false);
    case Act::Kind::offer_moves:
      return offer_moves(random);
    case Act::Kind::queue_policy:
      return put_queue_policy(random);
    default:
      return request_drain(act.kind, random);
  }
}

void Simulation::request_drain(Act::Kind kind, Random& random) {
  Service* const service = leader();
  if (service == nullptr) return;
  const auto state = service->loop().state();
  DrainTarget target;
  std::optional<DrainPreview> preview;
  if (kind == Act::Kind::drain_node) {
    target = {DrainKind::node, "node-" + std::to_string(random.pick(fabric_.hosts()))};
    preview = preview_node_drain(*state, target);
  } else {
    auto& network = *fabric_.subnets()[random.pick(fabric_.subnets().size())];
    std::vector<DrainTarget> all;
    for (const auto& cable : network.cables) {
      if (network.is_switch(cable.b)) all.push_back({DrainKind::link, network.link_text(cable)});
    }
    if (kind == Act::Kind::drain_switch || all.empty()) {
      all.clear();
      for (const int sw : network.switches()) {
        all.push_back({DrainKind::network_switch, to_string(Guid(network.subnet.node(sw).guid))});
      }
    }
    target = random.any(all);
    const auto routes = service->loop().routes()->at(*state);
    if (!routes) return;
    auto previewed = preview_drain(*state, **routes, target);
    if (!previewed) return;
    preview = std::move(*previewed);
  }
  (void)ask(RequestDrain{target, "simulated", random.one_in(3), preview->objections, preview->view_version});
}

void Simulation::put_reservation(Random& random) {
  const Service* const service = leader();
  if (service == nullptr) return;
  PutReservation put;
  put.name = "window-" + std::to_string(random.pick(3));
  put.from_us = service->unix_us() + 1'000'000 + random.pick(60'000'000);
  put.to_us = put.from_us + 1'000'000 + random.pick(90'000'000);
  if (random.one_in(2)) {
    put.kind = scheduler::QueueWindow::Kind::maintenance;
    put.nodes = {"node-" + std::to_string(random.pick(fabric_.hosts()))};
  } else {
    put.shape.tenant = "gold";
    put.shape.parallelism.data = 1 + random.pick(2);
  }
  (void)ask(put);
}

void Simulation::disturb_fabric(const Act& act, Random& random) {
  SimulatedSubnet& network = *fabric_.subnets()[random.pick(fabric_.subnets().size())];
  const int sw = network.switches()[random.pick(network.switches().size())];
  auto& cable = random.any(network.cables);
  const bool trapped = !random.one_in(3);  // reports are lost, too
  switch (act.kind) {
    case Act::Kind::cut:
      return network.set(cable, false, trapped);
    case Act::Kind::join:
      for (auto& one : network.cables) {
        if (!one.is_up && random.one_in(2)) network.set(one, true, trapped);
      }
      return;
    case Act::Kind::isolate_switch:
      for (auto& one : network.cables) {
        if (one.a == sw || one.b == sw) network.set(one, false, random.one_in(2));
      }
      return;
    case Act::Kind::silence:
      network.subnet.node(sw).silent = !network.subnet.node(sw).silent;
      network.unheard.insert(sw);
      ++network.changes;
      return;
    case Act::Kind::forget_tables:
      return network.forget_tables(sw);
    case Act::Kind::lose_datagrams:
      return network.lose(0.02 * random.pick(8), random.next());
    case Act::Kind::slow_switch:
      network.unheard.insert(sw);
      network.delay_us[sw] = random.one_in(2) ? 0 : 1'000 * random.pick(400);
      return;
    default:
      network.broken_until_us = time_.now_us() + random.pick(4'000'000);
  }
}

void Simulation::disturb_service(const Act& act, Random& random) {
  // Most of what goes wrong meets the leader.
  Machine& machine = random.one_in(3) ? random.any(machines_) : machine_of(anyone());
  if (machine.is_busy) return;
  const auto place = static_cast<Awaits::Place>(random.pick(Awaits::kNames.size()));
  const unsigned visit = random.pick(place < Awaits::Place::read_fabric ? 3 : 30);
  const std::string at = ": machine " + std::to_string(machine.number) + ", visit " + std::to_string(visit) + " of " +
                         Awaits::kNames[static_cast<std::size_t>(place)];
  switch (act.kind) {
    case Act::Kind::store_fault:
      store_.fault_now = static_cast<SimulatedStore::Fault>(1 + random.pick(3));
      store_.faults_left = 1 + random.pick(3);
      store_.hang_us = random.pick(9'000'000);
      return;
    case Act::Kind::crash:
      if (!machine.service) return;
      machine.service->awaits.crash_at(place, visit);
      trace_.note("to crash" + at);
      ++counts_["crash at " + std::string(Awaits::kNames[static_cast<std::size_t>(place)])];
      return submit_job(random);
    case Act::Kind::restart:
      if (!machine.service) return;
      machine.service->stop();
      return end(machine, "is stopped", random.pick(3));
    case Act::Kind::suspend: {
      if (!machine.service) return;
      Service& who = *machine.service;
      who.awaits.on_suspended = [this, &who, salt = random.next()] { suspended(who, salt); };
      who.awaits.suspend_at(place, visit);
      trace_.note("to sleep" + at);
      // Something to write and to store.
      disturb_fabric({random.one_in(2) ? Act::Kind::cut : Act::Kind::join, random.next(), 0, 0}, random);
      return submit_job(random);
    }
    case Act::Kind::partition:
      if (!machine.service) return;
      machine.service->journal().cut_off(random.pick(15'000'000));
      trace_.note("machine " + std::to_string(machine.number) + " is cut off from the store");
      return submit_job(random);
    case Act::Kind::jump_clock: {
      constexpr std::int64_t kSpans[] = {1'000'000, 60'000'000, 3'600'000'000};
      const std::int64_t span = 1 + random.pick(kSpans[random.pick(3)]);
      const std::int64_t by = random.one_in(2) ? span : -span;
      // Of all machines, by what sets them, or of one.
      const bool of_all = random.one_in(2);
      for (auto& one : machines_) {
        if (!of_all && &one != &machine) continue;
        one.clock_ahead_us += by;
        if (one.service) one.service->clock_ahead_us = one.clock_ahead_us;
      }
      return;
    }
    default:
      calm_down(random);
  }
}

}  // namespace railweave::simulation
