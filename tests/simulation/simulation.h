// One run of a plan: one to three services on a store, of which one leads, their clients and their fabric, and what goes
// wrong with each. After every step what must hold always is checked, and after every calm what must hold in the end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/auditor.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/service.h"

namespace railweave::simulation {

struct Outcome {
  std::string fault;  // "": none
  std::uint64_t digest = 0;
  std::uint64_t lines = 0;  // of the trace
  std::vector<std::string> trace;
  std::map<std::string, std::uint64_t> counts;  // of what happened
};

Outcome simulate(const Plan& plan, bool keeps_trace = false);
// The same plan with fewer acts and steps, as long as it still fails.
Plan shrink(Plan plan);

control::LaunchTerms random_launch(Random& random);

class Simulation {
 public:
  Simulation(const Plan& plan, bool keeps_trace);
  Outcome run();

 private:
  struct Request {
    decltype(control::Command::body) body;
    std::string name;  // of a job that is submitted
    control::JobId ends;
    unsigned attempts = 0;
    bool is_answered = false, is_accepted = false;
    control::JobId job;
    std::function<void(const control::ClusterState&)> on_accepted = nullptr;  // the state that contains its effect
  };
  using RequestPtr = std::shared_ptr<Request>;

  void begin();
  void establish(decltype(control::Command::body) body);
  void step(unsigned wait_ms);
  void check();
  void check_requests();
  void fail(const std::string& what);

  // A machine, on which a supervisor starts the service again when it ends.
  struct Machine {
    unsigned number = 0;
    std::unique_ptr<Service> service;  // null: it is not started again yet
    bool is_busy = false;              // it waits while others run
    unsigned down_steps = 0, deposed_steps = 0;
    std::uint64_t seq = 0;  // of the state that this run of it published last
    std::int64_t clock_ahead_us = 0;
  };

  // Services (machines.cc).
  [[nodiscard]] Service::World world();
  [[nodiscard]] Service* leader();
  [[nodiscard]] Service& anyone();  // the leader, or who may become one
  Machine& machine_of(const Service& service);
  void run(Machine& machine, std::chrono::milliseconds wait);
  void start(Machine& machine);
  void end(Machine& machine, const std::string& why, unsigned down_steps);
  void suspended(Service& who, std::uint64_t salt);
  void await_leader();
  void check_services();

  // Clients.
  void ask(Service& service, const RequestPtr& request);
  void ask_leader(const RequestPtr& request);
  RequestPtr ask(decltype(control::Command::body) body);
  void answered(Service& service, Request& request, const control::CommandResult& result);
  void retry_submissions();
  void submit_job(Random& random);
  void submit_job(control::SubmitJob command);
  control::SubmitJob random_submission(Random& random);

  // Acts.
  void act(const Act& act);
  void ask_something(const Act& act, Random& random);
  void disturb_fabric(const Act& act, Random& random);
  void disturb_service(const Act& act, Random& random);
  void request_drain(Act::Kind kind, Random& random);
  void put_reservation(Random& random);
  void calm_down(Random& random);

  // Launchers (launchers.cc).
  void run_launchers(Random& random, bool are_prompt);
  void launch(const control::Job& job, Random& random, bool is_prompt);
  void end_left(const control::Job& job, Random& random);
  void crowd(Random& random);
  void offer_moves(Random& random);
  void put_queue_policy(Random& random);
  void check_processes();

  // After a calm: "" or what is still wrong.
  [[nodiscard]] std::string judge();
  [[nodiscard]] std::string judge_queue(Service& service);
  [[nodiscard]] std::string judge_subnet(Service& service, SimulatedSubnet& network);

  // What a launcher runs of a job.
  struct Launched {
    std::vector<fabric::GpuId> gpus;
    RequestPtr asked;  // that it may start; no other answer counts
  };

  const Plan& plan_;
  SimulatedTime time_;
  Trace trace_;
  std::string fault_;
  SimulatedStore store_;
  SimulatedFabric fabric_;
  Auditor auditor_;
  Random random_;
  std::vector<RequestPtr> requests_;
  std::uint64_t names_ = 0;
  std::map<std::string, std::uint64_t> counts_;
  std::vector<Machine> machines_;
  std::map<control::JobId, Launched> launched_;
};

}  // namespace railweave::simulation
