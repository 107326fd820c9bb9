// What the network could do for running jobs: at every hour of a replay the jobs that run are put on the engine's routes as they
// are, and on what is tried: routes that follow their traffic (fabric/routing/traffic), or classes by their intensity
// (job_classes.h); or both kinds of routes are tried beside switches that hash flows (fabric/flow/hashed_paths.h). How fast
// their steps go is told by two judges. The replay itself is not changed by it.
//
//   model   the shares of links that predictions have (scheduler/placement/score/contention.h)
//   flows   max-min fair rates of a job's flows beside those of the others, each at the mean rate of its step; among classes
//           by their weights. It alone tells of classes and of hashes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "fabric/flow/pair_paths.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "scheduler/collective/phase_times.h"
#include "scheduler/collective/routed_traffic.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "services/railweave/lab/replay/replay_routes.h"

namespace railweave::cli {

class RouteTrial {
 public:
  static constexpr std::int64_t kEveryUs = 3'600'000'000;

  enum class What : std::uint8_t { followed_routes, host_routes, priority_classes };
  // classes: number of them, where they are tried.
  RouteTrial(const scheduler::PlacementFabricPtr& fabric, What what, unsigned classes = 0);

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
    Work engine, tried;                             // engine: without what is tried; of host routes, hashed
    double reversed_flows = 0;                      // the best classes for the jobs with the least intensity: a control
    double followed_flows = 0;                      // of host routes, those that follow the jobs
  };
  [[nodiscard]] const Report& report() const { return report_; }

 private:
  struct Running {
    scheduler::JobSpec spec;
    std::vector<fabric::GpuId> gpu_of_rank;
    scheduler::BundleTraffic::Load alone;
    std::vector<scheduler::PortFlow> flows;
  };
  struct Classes {
    std::vector<double> weight;  // by class; empty: there are none
    std::map<std::uint64_t, std::uint8_t> of_job;
  };
  void try_followed_routes();
  void try_host_routes();
  void try_classes();
  FollowedRoutes follow_routes();  // the jobs that run
  [[nodiscard]] Work work_on(const fabric::ForwardingTables& tables) const;
  using Periods = std::map<std::uint64_t, double>;  // of a step, by job
  [[nodiscard]] Periods periods_alone() const;
  // Of the judge of flows, where others' steps take so long; then how long those of each job take beside them.
  [[nodiscard]] double flows_work(const fabric::PairPaths& of_pairs, const Classes& classes, Periods& periods) const;
  // The same where steps of jobs that are held up send less in the mean: as each depends on the others, after a few rounds.
  [[nodiscard]] double settled_work(const Classes& classes) const;
  [[nodiscard]] scheduler::BackgroundFlows beside(std::uint64_t job, const fabric::PairPaths& paths,
                                                  const Classes& classes, const Periods& periods) const;

  scheduler::PlacementFabricPtr fabric_;
  What what_;
  std::unique_ptr<const ReplayRoutes> routes_;
  fabric::PathWalker walker_;
  scheduler::BundleTraffic bundles_;
  std::vector<double> capacity_mbps_;         // by directed link
  std::vector<double> class_weight_;          // by class
  std::map<std::uint64_t, Running> running_;  // those that send over the network
  std::int64_t next_us_ = 0;
  Report report_;
};

}  // namespace railweave::cli
