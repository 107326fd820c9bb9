// What a plan's acts do to a simulation.
#include <algorithm>

#include "services/control/decide/drain_preview.h"
#include "tests/simulation/simulation.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

void Simulation::act(const Act& act) {
  Random random(act.salt);
  retry_submissions();
  if (act.kind <= Act::Kind::checkpoint) return ask_something(act, random);
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
      for (unsigned n = 1 + random.pick(3); n > 0; --n) submit_job(*leader_, random);
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
      (void)ask(PutTenant{tenant, {}});
      return;
    }
    case Act::Kind::contract: {
      scheduler::Contract contract{.tenant = random.one_in(3) ? "silver" : "gold",
                                   .guaranteed = RateMbps(4'000 * random.pick(5))};
      contract.survives_link_failure = random.one_in(4);
      (void)ask(PutContract{contract, {}});
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
      (void)ask(
          SetSubnetMode{SimulatedFabric::kSubnet, random.one_in(2) ? SubnetMode::observe : SubnetMode::direct, "", {}});
      return;
    case Act::Kind::checkpoint:
      if (!jobs.empty()) (void)ask(CheckpointJob{random.any(jobs)->id, 0});
      return;
    default:
      return request_drain(act.kind, random);
  }
}

void Simulation::request_drain(Act::Kind kind, Random& random) {
  const auto state = leader_->loop().state();
  DrainTarget target;
  std::optional<DrainPreview> preview;
  if (kind == Act::Kind::drain_node) {
    const auto hosts = static_cast<unsigned>(fabric_.adapters().size());
    target = {DrainKind::node, "node-" + std::to_string(random.pick(hosts))};
    preview = preview_node_drain(*state, target);
  } else {
    std::vector<DrainTarget> all;
    for (const auto& cable : fabric_.cables) {
      if (fabric_.is_switch(cable.b)) all.push_back({DrainKind::link, fabric_.link_text(cable)});
    }
    if (kind == Act::Kind::drain_switch || all.empty()) {
      all.clear();
      for (const int sw : fabric_.switches()) {
        all.push_back({DrainKind::network_switch, to_string(Guid(fabric_.subnet.node(sw).guid))});
      }
    }
    target = random.any(all);
    const auto routes = leader_->loop().routes()->at(*state);
    if (!routes) return;
    auto previewed = preview_drain(*state, **routes, target);
    if (!previewed) return;
    preview = std::move(*previewed);
  }
  (void)ask(RequestDrain{target, "simulated", random.one_in(3), preview->objections, preview->view_version});
}

void Simulation::put_reservation(Random& random) {
  PutReservation put;
  put.name = "window-" + std::to_string(random.pick(3));
  put.from_us = leader_->unix_us() + 1'000'000 + random.pick(60'000'000);
  put.to_us = put.from_us + 1'000'000 + random.pick(90'000'000);
  if (random.one_in(2)) {
    put.kind = scheduler::QueueWindow::Kind::maintenance;
    put.nodes = {"node-" + std::to_string(random.pick(fabric_.adapters().size()))};
  } else {
    put.shape.tenant = "gold";
    put.shape.parallelism.data = 1 + random.pick(2);
  }
  (void)ask(put);
}

void Simulation::disturb_fabric(const Act& act, Random& random) {
  const int sw = fabric_.switches()[random.pick(fabric_.switches().size())];
  auto& cable = random.any(fabric_.cables);
  const bool trapped = !random.one_in(3);  // reports are lost, too
  switch (act.kind) {
    case Act::Kind::cut:
      return fabric_.set(cable, false, trapped);
    case Act::Kind::join:
      for (auto& one : fabric_.cables) {
        if (!one.is_up && random.one_in(2)) fabric_.set(one, true, trapped);
      }
      return;
    case Act::Kind::isolate_switch:
      for (auto& one : fabric_.cables) {
        if (one.a == sw || one.b == sw) fabric_.set(one, false, random.one_in(2));
      }
      return;
    case Act::Kind::silence:
      fabric_.subnet.node(sw).silent = !fabric_.subnet.node(sw).silent;
      fabric_.unheard.insert(sw);
      ++fabric_.changes;
      return;
    case Act::Kind::forget_tables:
      return fabric_.forget_tables(sw);
    case Act::Kind::lose_datagrams:
      return fabric_.lose(0.02 * random.pick(8), random.next());
    case Act::Kind::slow_switch:
      fabric_.unheard.insert(sw);
      fabric_.delay_us[sw] = random.one_in(2) ? 0 : 1'000 * random.pick(400);
      return;
    default:
      fabric_.broken_until_us = time_.now_us() + random.pick(4'000'000);
  }
}

void Simulation::disturb_service(const Act& act, Random& random) {
  const auto place = static_cast<Awaits::Place>(random.pick(Awaits::kNames.size()));
  const unsigned visit = random.pick(place < Awaits::Place::read_fabric ? 3 : 30);
  switch (act.kind) {
    case Act::Kind::store_fault:
      store_.fault = static_cast<SimulatedStore::Fault>(1 + random.pick(3));
      store_.faults_left = 1 + random.pick(3);
      store_.hang_us = random.pick(9'000'000);
      return;
    case Act::Kind::crash:
      leader_->awaits.crash_at(place, visit);
      trace_.note("to crash at visit " + std::to_string(visit) + " of " +
                  Awaits::kNames[static_cast<std::size_t>(place)]);
      ++counts_["crash at " + std::string(Awaits::kNames[static_cast<std::size_t>(place)])];
      submit_job(*leader_, random);
      return;
    case Act::Kind::restart:
      return restart();
    case Act::Kind::suspend: {
      if (deposed_) return;
      Service& who = *leader_;
      who.awaits.on_suspended = [this, &who, salt = random.next()] { suspended(who, salt); };
      who.awaits.suspend_at(place, visit);
      trace_.note("to sleep at visit " + std::to_string(visit) + " of " +
                  Awaits::kNames[static_cast<std::size_t>(place)]);
      // Something to write and to store.
      disturb_fabric({random.one_in(2) ? Act::Kind::cut : Act::Kind::join, random.next(), 0, 0}, random);
      submit_job(*leader_, random);
      return;
    }
    case Act::Kind::jump_clock: {
      constexpr std::int64_t kSpans[] = {1'000'000, 60'000'000, 3'600'000'000};
      const std::int64_t by = 1 + random.pick(kSpans[random.pick(3)]);
      clock_ahead_us_ += random.one_in(2) ? by : -by;
      leader_->clock_ahead_us = clock_ahead_us_;
      return;
    }
    default:
      calm_down(random);
  }
}

}  // namespace railweave::simulation
