// The services of a simulation: which of them leads, how each is started, ends and sleeps, and what must hold of them.
#include <algorithm>

#include "fabric/base/check.h"
#include "tests/simulation/simulation.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

Service::World Simulation::world() { return {time_, store_, fabric_, trace_, fault_}; }

Service* Simulation::leader() {
  for (auto& machine : machines_) {
    if (machine.service && machine.service->leads()) return machine.service.get();
  }
  return nullptr;
}

Service& Simulation::anyone() {
  await_leader();
  if (auto* const service = leader()) return *service;
  const auto found = std::ranges::find_if(machines_, [](const Machine& machine) { return machine.service != nullptr; });
  RAILWEAVE_CHECK(found != machines_.end(), "some machine has a service");
  return *found->service;
}

Simulation::Machine& Simulation::machine_of(const Service& service) {
  const auto found =
      std::ranges::find(machines_, &service, [](const Machine& machine) { return machine.service.get(); });
  RAILWEAVE_CHECK(found != machines_.end(), "every service is of a machine");
  return *found;
}

void Simulation::start(Machine& machine) {
  machine.service = std::make_unique<Service>(world(), machine.number, machine.clock_ahead_us);
  machine.deposed_steps = 0;
  machine.seq = 0;
  Service& service = *machine.service;
  if (random_.one_in(8)) service.awaits.crash_at(Awaits::Place::read_store, random_.pick(3));
  if (random_.one_in(16)) service.awaits.crash_at(Awaits::Place::lease_taken, 0);
  trace_.note("machine " + std::to_string(machine.number) + " starts its service");
  try {
    if (const auto opened = service.open(); !opened) return end(machine, "cannot start: " + opened.error().text(), 1);
  } catch (const Crash&) {
    ++counts_["crashes at a start"];
    return end(machine, "crashes while it starts", 0);
  }
  service.awaits.disarm();
  if (fault_.empty()) fail(auditor_.follow());
  if (fault_.empty()) fail(auditor_.compare(*service.loop().state(), "the state after a start"));
  if (service.loop().state()->seq != auditor_.state().seq) fail("a start does not read the whole journal");
}

void Simulation::end(Machine& machine, const std::string& why, unsigned down_steps) {
  trace_.note("machine " + std::to_string(machine.number) + ": the service " + why);
  machine.service->crash();
  machine.service.reset();
  machine.down_steps = down_steps;
}

void Simulation::run(Machine& machine, std::chrono::milliseconds wait) {
  if (!fault_.empty() || machine.is_busy) return;
  if (!machine.service) {
    if (machine.down_steps > 0) {
      --machine.down_steps;
    } else {
      start(machine);
    }
    return;
  }
  Service& service = *machine.service;
  const bool followed = service.follows();
  machine.is_busy = true;
  try {
    service.step(service.leads() ? wait : std::min(wait, std::chrono::milliseconds(50)));
  } catch (const Crash&) {
    machine.is_busy = false;
    ++counts_["crashes"];
    return end(machine, "crashes", random_.pick(6));
  }
  machine.is_busy = false;
  if (followed && service.leads()) ++counts_["take-overs"];
  if (!service.is_to_restart()) return;
  // It does not notice at once.
  if (++machine.deposed_steps > random_.pick(6)) end(machine, "ends, to be started again", random_.pick(4));
}

// It sleeps where it waits: its lease may expire, and another leads when it wakes.
void Simulation::suspended(Service& who, std::uint64_t salt) {
  Random random(salt);
  Machine& machine = machine_of(who);
  who.is_suspended = true;
  trace_.note("machine " + std::to_string(machine.number) + " sleeps");
  const std::int64_t until_us = time_.now_us() + random.pick(random.one_in(4) ? 4'000'000 : 20'000'000);
  const bool led = who.journal().leads();
  while (time_.now_us() < until_us && fault_.empty()) {
    const std::int64_t before_us = time_.now_us();
    const auto left_ms = std::chrono::milliseconds(1 + (until_us - before_us) / 1'000);
    for (auto& other : machines_) run(other, std::min(left_ms, std::chrono::milliseconds(1 + random.pick(1'000))));
    if (time_.now_us() == before_us) time_.pass(std::min<std::int64_t>(until_us - before_us, 500'000));
    if (random.one_in(4) && leader() != nullptr) submit_job(random);
    if (random.one_in(6)) disturb_fabric({Act::Kind::cut, random.next(), 0, 0}, random);
  }
  if (led && who.journal().has_successor()) ++counts_["successions"];
  who.is_suspended = false;
  trace_.note("machine " + std::to_string(machine.number) + " goes on");
}

// A lease expires, and then one of those that run takes it.
void Simulation::await_leader() {
  for (unsigned n = 0; n < 60 && fault_.empty() && leader() == nullptr; ++n) step(500);
}

void Simulation::check_services() {
  unsigned leaders = 0;
  for (auto& machine : machines_) {
    if (!machine.service) continue;
    const Service& service = *machine.service;
    const auto state = machine.service->loop().state();
    const std::string who = "machine " + std::to_string(machine.number);
    leaders += service.leads() ? 1 : 0;
    if (state->seq < machine.seq) fail(who + " goes back from record " + std::to_string(machine.seq));
    if (state->seq > store_.records.size()) fail(who + " shows what is not in the store");
    machine.seq = state->seq;
    if (fault_.empty() && random_.one_in(8)) fail(auditor_.compare(*state, ("what " + who + " shows").c_str()));
    if (!service.leads()) continue;
    for (const auto& network : fabric_.subnets()) {
      const auto status = service.subnet(*network);
      const auto loop = auditor_.loops().find(network->name());
      if (status->phase == SubnetPhase::synced && loop != auditor_.loops().end() && !loop->second.empty()) {
        fail("packets loop, " + loop->second + ", and " + network->name() + " is called synced");
      }
      trace_.note(network->name() + " " + std::string(to_string(status->phase)) + ", " +
                  std::to_string(status->links_now().up) + " links up, " + std::to_string(status->repairs_total) +
                  " repairs, record " + std::to_string(auditor_.state().seq));
    }
  }
  if (leaders > 1) fail("two lead");
}

}  // namespace railweave::simulation
