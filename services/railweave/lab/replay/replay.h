// Replays a job trace on a fabric, event by event in simulated time, under one policy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/queue/policy/queue_policy.h"
#include "services/railweave/lab/replay/job_trace.h"
#include "services/railweave/lab/replay/stretch.h"

namespace railweave::cli {

class RouteTrial;

// railweave, whose jobs wait for a better place as the default policy of the queue has them.
inline constexpr std::string_view kWaitingPolicy = "railweave-waits";
// railweave, whose jobs leave slow places to others and wait for good ones.
inline constexpr std::string_view kYieldingPolicy = "railweave-yields";
// The same, on routes that follow each job, which the judge of flows alone sees.
inline constexpr std::string_view kFollowedPolicy = "railweave-follows";
// railweave, whose places are compared on routes where bundles mislead: a trial, as the service chooses on bundles.
inline constexpr std::string_view kRoutedPolicy = "railweave-routes";
// BestFit of Kueue's topology-aware scheduling, in Railweave's queue.
inline constexpr std::string_view kKepPolicy = "kep-best-fit";
inline constexpr std::string_view kReplayPolicies[] = {"fifo-first-fit", "random",   "best-fit", "tree",
                                                       "block",          kKepPolicy, "railweave"};

// Placed by Railweave, from its own queue; the others are peers.
bool is_own_policy(std::string_view policy);

struct ReplayOptions {
  std::string policy =
      "railweave";  // of kReplayPolicies, kWaitingPolicy, kYieldingPolicy, kFollowedPolicy or kRoutedPolicy
  scheduler::Backfill backfill = scheduler::Backfill::easy;              // conservative: railweave alone
  scheduler::FairShareRule fair_share = scheduler::FairShareRule::none;  // railweave alone
  double estimate_factor = 1;
  std::int64_t starvation_s = 0;    // 0: no bound; railweave alone
  scheduler::PlaceWait place_wait;  // of kWaitingPolicy and kYieldingPolicy
  Stretch stretch = Stretch::none;
  bool heavy = false;            // jobs are heavy_job_spec(), not trace_job_spec()
  RouteTrial* routes = nullptr;  // is told of all jobs that run
  bool segments = false;  // ask_for_segments() of jobs under policies that know of them; others see no such demand
};

struct ReplaySample {
  std::int64_t at_s = 0;
  std::uint64_t used = 0, stranded = 0;
  std::uint64_t queued = 0;
  double slowdown = 1;  // of communication, mean of the jobs that send, when it was last computed
};

struct ReplayTenant {
  std::string name;
  std::uint64_t jobs = 0;
  double gpu_h = 0;
  double mean_wait_s = 0, p95_wait_s = 0;
  double mean_slowdown = 0;  // (waiting + running, at least 10 min) / (running, at least 10 min), at least 1
};

// Of jobs of more than one node: groups used, and the fewest that could hold them on the empty fabric.
struct ReplaySpread {
  std::uint64_t jobs = 0;
  std::string rack_level;  // the level counted as racks on this fabric: "rack", "leafGroup" or "node"
  std::uint64_t racks = 0, least_racks = 0, domains = 0, least_domains = 0;
  std::uint64_t at_least_racks = 0;  // jobs that used the fewest racks possible
};

// Predicted for jobs of more than one node (contention.h), each the mean over its start and every hour of its run.
struct ReplaySlowdown {
  double mean = 1, p95 = 1, most = 1;  // of their communication
  double mean_step = 1;                // of their training step
};

struct ReplayReport {
  std::string policy, backfill;
  std::uint64_t jobs = 0, too_large = 0, total_gpus = 0;
  struct Waits {
    double mean_s = 0, p50_s = 0, p95_s = 0, p99_s = 0, most_s = 0;
  };
  Waits waits;
  double mean_completion_s = 0;  // from its submission to its end
  double mean_stretch = 1;       // of running times, weighted by GPUs
  std::int64_t makespan_s = 0;
  double utilisation = 0;  // of all GPUs, over the makespan
  double loaded_utilisation =
      0;  // the same while jobs arrive, without the first tenth of that time, in which the fabric fills
  ReplaySpread spread;
  double stranded_gpu_h = 0;  // free while jobs wait, and usable by none of them
  ReplaySlowdown slowdown;
  double fairness = 1;  // Jain's index of the tenants' mean slowdowns: 1 is even
  std::uint64_t cycles = 0, peak_queue = 0;
  std::vector<ReplayTenant> tenants;  // by GPU hours, most first
  std::vector<ReplaySample> samples;  // after every event
};

// Calls `progress` with the number of ended jobs every 64 events.
ReplayReport replay(const scheduler::PlacementFabricPtr& fabric, const JobTrace& trace, const ReplayOptions& options,
                    const std::function<void(std::uint64_t)>& progress);

}  // namespace railweave::cli
