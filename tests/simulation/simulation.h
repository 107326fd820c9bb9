// One run of a plan: a service that leads, its clients, its store and its fabric, and what goes wrong with each. After
// every step what must hold always is checked, and after every calm what must hold in the end.
#pragma once

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
  };
  using RequestPtr = std::shared_ptr<Request>;

  void begin();
  void step(unsigned wait_ms);
  void check();
  void check_requests();
  void fail(const std::string& what);

  // Services.
  [[nodiscard]] Service::World world();
  std::unique_ptr<Service> start_service();
  void restart();
  void suspended(Service& who, std::uint64_t salt);
  void crash_leader();

  // Clients.
  void ask(Service& service, const RequestPtr& request);
  RequestPtr ask(decltype(control::Command::body) body);
  void answered(Service& service, Request& request, const control::CommandResult& result);
  void retry_submissions();
  void submit_job(Service& service, Random& random);

  // Acts.
  void act(const Act& act);
  void ask_something(const Act& act, Random& random);
  void disturb_fabric(const Act& act, Random& random);
  void disturb_service(const Act& act, Random& random);
  void request_drain(Act::Kind kind, Random& random);
  void put_reservation(Random& random);
  void calm_down(Random& random);

  // After a calm: "" or what is still wrong.
  [[nodiscard]] std::string judge();
  [[nodiscard]] std::string judge_queue();
  [[nodiscard]] std::string judge_fabric();

  const Plan& plan_;
  SimulatedTime time_;
  Trace trace_;
  std::string fault_;
  SimulatedStore store_;
  SimulatedFabric fabric_;
  Auditor auditor_;
  Random random_;
  std::int64_t clock_ahead_us_ = 0;
  std::vector<RequestPtr> requests_;
  std::uint64_t names_ = 0;
  std::map<std::string, std::uint64_t> counts_;
  std::unique_ptr<Service> leader_, successor_, deposed_;
  unsigned deposed_steps_ = 0;
};

}  // namespace railweave::simulation
