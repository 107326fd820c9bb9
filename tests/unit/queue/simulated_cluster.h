// A cluster in simulated time, driven by QueueCycle: jobs arrive, start, end when they said, are evicted and come
// again. After every step it counts from the jobs alone what must be taken on every level and compares.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "scheduler/placement/fit/allocation.h"
#include "scheduler/queue/queue_cycle.h"

namespace railweave::scheduler::testing_support {

constexpr std::int64_t kSecond = 1'000'000;

// Racks of hosts of GPUs, an NVLink domain per host; named h0, h1...
PlacementFabricPtr small_fabric(std::size_t hosts, unsigned gpus_per_host, std::size_t hosts_per_rack);

struct SimulatedJob {
  QueueJobId id = 0;
  JobSpec spec;
  std::int64_t arrives_us = 0;
  std::int64_t runs_us = 0;      // what it really takes
  std::int64_t started_us = -1;  // last
  std::int64_t ended_us = -1;
  std::vector<fabric::GpuId> gpus;
  unsigned evictions = 0;
  std::int64_t place_until_us = 0;  // as QueuedJob
  std::vector<fabric::GpuId> kept;
};

// A job of `blocks` tensor groups of `tensor` GPUs that says how long it runs.
SimulatedJob simulated_job(QueueJobId id, std::uint32_t tensor, std::uint32_t blocks, std::int64_t arrives_s,
                           std::int64_t runs_s);

class SimulatedCluster {
 public:
  SimulatedCluster(PlacementFabricPtr fabric, QueuePolicy policy, std::vector<SimulatedJob> jobs);

  // Called after every cycle, before its decisions are carried out, with what was running and queued then.
  std::function<void(const CycleResult&)> watch;
  bool explain = false;

  void run(std::int64_t until_us = INT64_MAX);

  [[nodiscard]] std::int64_t now_us() const { return now_us_; }
  [[nodiscard]] const std::map<QueueJobId, SimulatedJob>& jobs() const { return jobs_; }
  [[nodiscard]] const SimulatedJob& job(QueueJobId id) const { return jobs_.at(id); }
  [[nodiscard]] const std::vector<QueueJobId>& running() const { return running_; }
  [[nodiscard]] const std::vector<QueueJobId>& queued() const { return queued_; }
  [[nodiscard]] const Allocations& allocations() const { return allocations_; }
  [[nodiscard]] const PlacementFabricPtr& fabric() const { return fabric_; }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }
  [[nodiscard]] const QueuePolicy& policy() const { return policy_; }
  CycleResult cycle();  // asks; changes nothing
  void carry_out(const CycleResult& result);
  std::string broken;  // what was found wrong first; empty: nothing

 private:
  void check_conservation();

  PlacementFabricPtr fabric_;
  QueuePolicy policy_;
  QueueCycle cycle_;
  std::map<QueueJobId, SimulatedJob> jobs_;
  std::vector<QueueJobId> to_come_;  // by arrival, the next at the back
  std::vector<QueueJobId> queued_, running_;
  Allocations allocations_;
  PlacementTree mirror_;  // kept by increments, as a service keeps it
  std::int64_t now_us_ = 0;
  std::uint64_t cycles_ = 0;
};

}  // namespace railweave::scheduler::testing_support
