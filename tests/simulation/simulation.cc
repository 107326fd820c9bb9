#include "tests/simulation/simulation.h"

#include <algorithm>

#include "fabric/formats/native/native_json.h"
#include "services/json/digest.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

Simulation::Simulation(const Plan& plan, bool keeps_trace)
    : plan_(plan),
      trace_(time_, keeps_trace),
      store_(time_, plan.seed + 1),
      fabric_(time_, plan.seed + 2),
      auditor_(store_, trace_),
      random_(plan.seed + 3) {
  machines_.resize(random_.one_in(4) ? 1 : 2 + random_.pick(2));
  for (unsigned n = 0; n < machines_.size(); ++n) machines_[n].number = n;
  time_.on_passed = [this] {
    for (auto& machine : machines_) {
      if (machine.service && !machine.service->is_suspended) machine.service->journal().renew();
    }
  };
}

Outcome Simulation::run() {
  begin();
  for (std::size_t i = 0; i < plan_.acts.size() && fault_.empty(); ++i) {
    trace_.note("act " + std::to_string(i) + ": " + to_string(plan_.acts[i]));
    ++counts_[Act::kNames[static_cast<std::size_t>(plan_.acts[i].kind)]];
    act(plan_.acts[i]);
    for (unsigned n = plan_.acts[i].steps; n > 0 && fault_.empty(); --n) step(plan_.acts[i].wait_ms);
  }
  Random random(plan_.seed + 4);
  calm_down(random);
  counts_["records"] = store_.records.size();
  for (const auto& record : store_.records) ++counts_["record " + record.kind];
  Outcome outcome{fault_, trace_.digest(), trace_.lines(), trace_.take(), counts_};
  for (auto& machine : machines_) machine.service.reset();
  return outcome;
}

void Simulation::fail(const std::string& what) {
  if (what.empty() || !fault_.empty()) return;
  fault_ = what;
  trace_.note("FAULT: " + what);
}

void Simulation::begin() {
  for (auto& machine : machines_) start(machine);
  auto document = std::make_shared<const std::string>(fabric::write_native_json(*fabric_.topology()));
  const std::string digest = api::sha256_hex(*document);
  establish(AcceptTopology{fabric_.topology(), document, digest, "simulation", false, std::nullopt});
  for (const char* name : {"gold", "silver"}) {
    establish(PutTenant{{.name = name, .description = {}, .max_gpus = {}, .max_priority = "high"}, {}});
  }
  scheduler::Contract contract{.tenant = "gold", .guaranteed = RateMbps(8'000)};
  if (!random_.one_in(3)) (void)ask(PutContract{contract, {}});
  for (const auto& subnet : fabric_.subnets()) {
    (void)ask(SetSubnetMode{subnet->name(), SubnetMode::direct, "", {}});
  }
  for (int i = 0; i < 8; ++i) step(300);
}

// What everything else needs: asked for until it is accepted.
void Simulation::establish(decltype(Command::body) body) {
  for (unsigned n = 0; n < 20 && fault_.empty(); ++n) {
    await_leader();
    const RequestPtr request = ask(body);
    for (unsigned steps = 0; steps < 4 && !request->is_accepted; ++steps) step(100);
    if (request->is_accepted) return;
  }
  fail("what the simulation needs was not accepted");
}

void Simulation::step(unsigned wait_ms) {
  if (!fault_.empty()) return;
  const std::int64_t before_us = time_.now_us();
  for (auto& machine : machines_) run(machine, std::chrono::milliseconds(wait_ms));
  if (time_.now_us() == before_us) time_.pass(wait_ms * 1'000);  // no one led
  check();
}

void Simulation::check() {
  if (fault_.empty()) fault_ = store_.fault;
  if (!fault_.empty()) {
    trace_.note("FAULT: " + fault_);
    return;
  }
  fail(auditor_.follow());
  if (fault_.empty()) fail(auditor_.check_fabric(fabric_));
  if (fault_.empty()) check_requests();
  if (fault_.empty()) check_processes();
  if (fault_.empty()) check_services();
}

void Simulation::check_requests() {
  for (const auto& request : requests_) {
    if (!request->name.empty()) {
      const std::size_t jobs = auditor_.jobs_called(request->name);
      if (jobs > 1) fail("the job " + request->name + " was submitted once and exists twice");
      if (request->is_accepted && jobs == 0) fail("the job " + request->name + " was accepted and does not exist");
    }
    if (request->is_accepted && request->ends != JobId()) {
      const JobPtr job = auditor_.state().jobs.find(request->ends);
      const bool ends = job != nullptr && job->is_releasing() && job->launch->becomes != JobState::queued;
      if (job != nullptr && !job->has_ended() && !ends)
        fail("the end of " + to_string(request->ends) + " was accepted and lost");
    }
  }
}

void Simulation::ask(Service& service, const RequestPtr& request) {
  ++request->attempts;
  (void)service.loop().submit({"client", request->body}, [this, &service, request](const CommandResult& result) {
    if (!service.is_dead()) answered(service, *request, result);
  });
}

// A follower sends on what it is asked: a request goes to the leader, wherever its client is. While none leads it is lost.
void Simulation::ask_leader(const RequestPtr& request) {
  Service* const service = leader();
  if (service != nullptr) ask(*service, request);
  if (!random_.one_in(8)) return;
  // What is asked of a follower's own loop is refused, and has no effect.
  for (auto& machine : machines_) {
    if (machine.service && machine.service->follows() && !machine.is_busy) return ask(*machine.service, request);
  }
}

Simulation::RequestPtr Simulation::ask(decltype(Command::body) body) {
  auto request = std::make_shared<Request>(Request{std::move(body), {}, {}, 0, false, false, {}});
  requests_.push_back(request);
  ask_leader(request);
  return request;
}

void Simulation::answered(Service& service, Request& request, const CommandResult& result) {
  if (result) {
    if (service.follows()) fail("a follower accepts a command");
    if (result->state->seq > store_.records.size()) {
      fail("a command was acknowledged with record " + std::to_string(result->state->seq) + ", the store has " +
           std::to_string(store_.records.size()));
    }
    request.is_answered = request.is_accepted = true;
    request.job = result->job;
    if (request.on_accepted) request.on_accepted(*result->state);
    trace_.note("accepted at record " + std::to_string(result->state->seq) + " " + request.name);
    ++counts_["accepted"];
    return;
  }
  const auto& error = result.error().error;
  trace_.note("refused: " + error.code + " " + request.name);
  ++counts_["refused " + error.code];
  // Of these the outcome is not known.
  request.is_answered = error.code != "service.storeFailed" && error.code != "service.notReady";
}

// Clients whose job may have been submitted or not ask again, with the same key.
void Simulation::retry_submissions() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const RequestPtr request = requests_[i];
    if (request->name.empty() || request->is_answered || request->attempts > 6 || random_.one_in(2)) continue;
    ++counts_["retries"];
    ask_leader(request);
  }
}

void Simulation::submit_job(Random& random) { submit_job(random_submission(random)); }

SubmitJob Simulation::random_submission(Random& random) {
  SubmitJob command;
  command.spec.name = "job-" + std::to_string(++names_);
  command.spec.tenant = random.one_in(2) ? "gold" : "silver";
  constexpr const char* kClasses[] = {"normal", "normal", "high", "low"};
  command.spec.priority = kClasses[random.pick(4)];
  command.spec.parallelism.tensor = 1U << random.pick(3);
  command.spec.parallelism.data = 1 + random.pick(4);
  command.spec.expected_duration_s = 10 + random.pick(200);
  command.queue = !random.one_in(4);
  if (!random.one_in(3)) command.launch = random_launch(random);
  if (const Service* const service = leader(); service != nullptr && random.one_in(5)) {
    command.not_before_us = service->unix_us() + random.pick(30'000'000);
  }
  command.idempotency_key = command.spec.name;
  command.request_digest = command.spec.name;
  return command;
}

void Simulation::submit_job(SubmitJob command) {
  auto request = std::make_shared<Request>(Request{command, command.spec.name, {}, 0, false, false, {}});
  requests_.push_back(request);
  ask_leader(request);
}

Outcome simulate(const Plan& plan, bool keeps_trace) { return Simulation(plan, keeps_trace).run(); }

Plan shrink(Plan plan) {
  const auto fails = [](const Plan& smaller) { return !simulate(smaller).fault.empty(); };
  for (std::size_t size = std::max<std::size_t>(1, plan.acts.size() / 2); size > 0; size /= 2) {
    for (std::size_t from = 0; from < plan.acts.size();) {
      Plan smaller = plan;
      const auto first = smaller.acts.begin() + static_cast<std::ptrdiff_t>(from);
      const auto count = static_cast<std::ptrdiff_t>(std::min(size, plan.acts.size() - from));
      smaller.acts.erase(first, first + count);
      if (fails(smaller)) {
        plan = std::move(smaller);
      } else {
        from += size;
      }
    }
  }
  for (auto& act : plan.acts) {
    while (act.steps > 0) {
      --act.steps;
      if (fails(plan)) continue;
      ++act.steps;
      break;
    }
  }
  return plan;
}

}  // namespace railweave::simulation
