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
  time_.on_passed = [this] {
    for (auto* service : {leader_.get(), successor_.get(), deposed_.get()}) {
      if (service != nullptr && !service->is_suspended) service->journal().renew();
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
  deposed_.reset();
  successor_.reset();
  leader_.reset();
  return outcome;
}

void Simulation::fail(const std::string& what) {
  if (what.empty() || !fault_.empty()) return;
  fault_ = what;
  trace_.note("FAULT: " + what);
}

void Simulation::begin() {
  leader_ = start_service();
  auto document = std::make_shared<const std::string>(fabric::write_native_json(*fabric_.topology()));
  const std::string digest = api::sha256_hex(*document);
  (void)ask(AcceptTopology{fabric_.topology(), document, digest, "simulation", false, std::nullopt});
  for (const char* name : {"gold", "silver"}) {
    (void)ask(PutTenant{{.name = name, .description = {}, .max_gpus = {}}, {}});
  }
  scheduler::Contract contract{.tenant = "gold", .guaranteed = RateMbps(8'000)};
  if (!random_.one_in(3)) (void)ask(PutContract{contract, {}});
  (void)ask(SetSubnetMode{SimulatedFabric::kSubnet, SubnetMode::direct, "", {}});
  for (int i = 0; i < 8; ++i) step(300);
}

void Simulation::step(unsigned wait_ms) {
  if (!fault_.empty()) return;
  try {
    leader_->step(std::chrono::milliseconds(wait_ms));
  } catch (const Crash&) {
    crash_leader();
  }
  if (successor_) {
    deposed_ = std::move(leader_);
    leader_ = std::move(successor_);
    deposed_steps_ = 6;
  }
  if (deposed_) {
    try {
      deposed_->step(std::chrono::milliseconds(50));
    } catch (const Crash&) {
      deposed_steps_ = 1;
    }
    if (--deposed_steps_ == 0) deposed_.reset();
  }
  check();
}

void Simulation::check() {
  if (!fault_.empty()) {
    trace_.note("FAULT: " + fault_);
    return;
  }
  fail(auditor_.follow());
  if (fault_.empty()) fail(auditor_.check_fabric(fabric_));
  if (fault_.empty()) check_requests();
  if (fault_.empty() && random_.one_in(8)) fail(auditor_.compare(*leader_->loop().state(), "the published state"));
  const auto status = leader_->subnet();
  trace_.note(std::string("subnet ") + std::string(to_string(status->phase)) + ", " + std::to_string(status->links_up) +
              " links up, " + std::to_string(status->repairs_total) + " repairs, record " +
              std::to_string(auditor_.state().seq));
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
      if (job != nullptr && !job->has_ended())
        fail("the end of " + to_string(request->ends) + " was accepted and lost");
    }
  }
}

Service::World Simulation::world() { return {time_, store_, fabric_, trace_, fault_}; }

std::unique_ptr<Service> Simulation::start_service() {
  for (;;) {
    time_.pass_until(store_.lease_until_us);
    auto service = std::make_unique<Service>(world(), clock_ahead_us_);
    if (random_.one_in(8)) service->awaits.crash_at(Awaits::Place::read_store, random_.pick(3));
    trace_.note("a service starts with term " + std::to_string(service->journal().term()));
    try {
      const auto recovered = service->recover();
      if (!recovered) fail("a start fails: " + recovered.error().text());
    } catch (const Crash&) {
      trace_.note("it crashes while it starts");
      ++counts_["crash at " + std::string("read of store")];
      continue;
    }
    service->awaits.disarm();
    if (fault_.empty()) fail(auditor_.follow());
    if (fault_.empty()) fail(auditor_.compare(*service->loop().state(), "the state after a start"));
    if (service->loop().state()->seq != auditor_.state().seq) fail("a start does not read the whole journal");
    return service;
  }
}

void Simulation::crash_leader() {
  trace_.note("the service crashes");
  ++counts_["crashes"];
  leader_->crash();
  leader_.reset();
  if (successor_) {
    leader_ = std::move(successor_);
  } else {
    leader_ = start_service();
  }
}

void Simulation::restart() {
  leader_->stop();
  leader_.reset();
  leader_ = start_service();
}

// It sleeps where it waits: its lease may expire, and another service leads when it wakes.
void Simulation::suspended(Service& who, std::uint64_t salt) {
  Random random(salt);
  who.is_suspended = true;
  trace_.note("the service is suspended");
  if (random.one_in(4) || successor_) {
    time_.pass(random.pick(4'000'000));
  } else {
    time_.pass(random.pick(20'000'000));
    ++counts_["successions"];
    successor_ = start_service();
    for (unsigned n = random.pick(4); n > 0; --n) {
      if (random.one_in(2)) submit_job(*successor_, random);
      if (random.one_in(3)) disturb_fabric({Act::Kind::cut, random.next(), 0, 0}, random);
      successor_->step(std::chrono::milliseconds(1 + random.pick(1'000)));
    }
  }
  who.is_suspended = false;
  trace_.note("it goes on");
}

void Simulation::ask(Service& service, const RequestPtr& request) {
  ++request->attempts;
  (void)service.loop().submit({"client", request->body}, [this, &service, request](const CommandResult& result) {
    if (!service.is_dead()) answered(service, *request, result);
  });
}

Simulation::RequestPtr Simulation::ask(decltype(Command::body) body) {
  auto request = std::make_shared<Request>(Request{std::move(body), {}, {}, 0, false, false, {}});
  requests_.push_back(request);
  ask(*leader_, request);
  return request;
}

void Simulation::answered(Service& service, Request& request, const CommandResult& result) {
  if (result) {
    if (result->state->seq > store_.records.size()) {
      fail("a command was acknowledged with record " + std::to_string(result->state->seq) + ", the store has " +
           std::to_string(store_.records.size()));
    }
    request.is_answered = request.is_accepted = true;
    request.job = result->job;
    trace_.note("accepted at record " + std::to_string(result->state->seq) + " " + request.name);
    ++counts_["accepted"];
    return;
  }
  const auto& error = result.error().error;
  trace_.note("refused: " + error.code + " " + request.name);
  ++counts_["refused " + error.code];
  // Of these the outcome is not known.
  request.is_answered = error.code != "service.storeFailed" && error.code != "service.notReady";
  (void)service;
}

// Clients whose job may have been submitted or not ask again, with the same key.
void Simulation::retry_submissions() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const RequestPtr request = requests_[i];
    if (request->name.empty() || request->is_answered || request->attempts > 6 || random_.one_in(2)) continue;
    ++counts_["retries"];
    ask(*leader_, request);
  }
}

void Simulation::submit_job(Service& service, Random& random) {
  SubmitJob command;
  command.spec.name = "job-" + std::to_string(++names_);
  command.spec.tenant = random.one_in(2) ? "gold" : "silver";
  constexpr const char* kClasses[] = {"normal", "normal", "high", "low"};
  command.spec.priority = kClasses[random.pick(4)];
  command.spec.parallelism.tensor = 1U << random.pick(3);
  command.spec.parallelism.data = 1 + random.pick(4);
  command.spec.expected_duration_s = 10 + random.pick(200);
  command.queue = !random.one_in(4);
  if (random.one_in(5)) command.not_before_us = service.unix_us() + random.pick(30'000'000);
  command.idempotency_key = command.spec.name;
  command.request_digest = command.spec.name;
  auto request = std::make_shared<Request>(Request{command, command.spec.name, {}, 0, false, false, {}});
  requests_.push_back(request);
  ask(service, request);
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
