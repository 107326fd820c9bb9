// What routes that follow the traffic of running jobs (fabric/routing/traffic) would be worth: at every hour of a replay the jobs
// that run are put on the engine's routes and on followed ones, and how fast their steps go is told by two judges. The replay
// itself is not changed by it.
//
//   model   the shares of links that predictions have (scheduler/placement/score/contention.h)
//   flows   max-min fair rates of a job's flows beside those of the others, each at the mean rate of its step
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "scheduler/collective/phase_times.h"
#include "scheduler/collective/routed_traffic.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "services/railweave/lab/replay/replay_routes.h"

namespace railweave::cli {

class RouteTrial {
 public:
  static constexpr std::int64_t kEveryUs = 3'600'000'000;

  explicit RouteTrial(const scheduler::PlacementFabricPtr& fabric);

  void start(std::uint64_t job, const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);
  void end(std::uint64_t job) { running_.erase(job); }
  // Not before from_us, where the fabric still fills.
  void sample(std::int64_t now_us, std::int64_t from_us);

  // Sums over samples of what jobs get done: GPUs times the time of a step alone, on bundles, over that here.
  struct Work {
    double model = 0, flows = 0;
  };
  struct Report {
    std::uint64_t samples = 0, jobs = 0, hops = 0;  // sums
    double balance_us = 0;                          // of processor time, sum
    Work engine, followed;
  };
  [[nodiscard]] const Report& report() const { return report_; }

 private:
  struct Running {
    scheduler::JobSpec spec;
    std::vector<fabric::GpuId> gpu_of_rank;
    scheduler::BundleTraffic::Load alone;
    std::vector<scheduler::PortFlow> flows;
  };
  [[nodiscard]] Work work_on(const fabric::ForwardingTables& tables) const;
  [[nodiscard]] scheduler::BackgroundFlows beside(std::uint64_t job, const fabric::PathWalker& walker) const;

  scheduler::PlacementFabricPtr fabric_;
  std::unique_ptr<const ReplayRoutes> routes_;
  fabric::PathWalker walker_;
  scheduler::BundleTraffic bundles_;
  std::map<std::uint64_t, Running> running_;  // those that send over the network
  std::int64_t next_us_ = 0;
  Report report_;
};

}  // namespace railweave::cli
