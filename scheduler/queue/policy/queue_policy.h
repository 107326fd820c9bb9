// The rules of the queue, as the operator sets them: priority classes, quotas of tenants, windows that are reserved or
// down for maintenance, how far ahead backfill looks, how long a job may starve. A value; checked by
// check_queue_policy().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/error.h"
#include "fabric/topology/ids.h"

namespace railweave::scheduler {

struct PriorityClass {
  std::string name;
  std::int32_t value = 0;    // higher goes first
  bool may_preempt = false;  // its jobs may evict jobs of lower classes
  bool preemptible = false;  // its jobs may be evicted for higher classes, and to give borrowed GPUs back
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

// A tenant may hold its nominal GPUs at any time. In a cohort it may borrow what the other tenants do not use;
// preemption reclaims it when the owner needs it.
struct TenantQuota {
  std::string name;
  std::optional<std::uint64_t> nominal_gpus;  // none: no quota; its jobs are bounded by the fabric alone
  std::string cohort;                         // empty: it neither lends nor borrows
  std::optional<std::uint64_t> borrow_gpus;   // the most it may borrow; none: whatever the cohort leaves
  double weight = 1;                          // of its fair share
  friend bool operator==(const TenantQuota&, const TenantQuota&) = default;
};

enum class Backfill : std::uint8_t {
  none,          // no job passes one that waits for GPUs
  easy,          // jobs that do not delay the first waiting job
  conservative,  // jobs that delay none of the first QueuePolicy::reserved_jobs waiting jobs
};
BOOST_DESCRIBE_ENUM(Backfill, none, easy, conservative)

enum class FairShareRule : std::uint8_t {
  none,     // first come, first served
  running,  // the tenant that holds the smallest share now goes first (dominant share; GPUs are the one resource)
  decayed,  // ... that used least, long ago counting less (half-life)
};
BOOST_DESCRIBE_ENUM(FairShareRule, none, running, decayed)

// GPUs set aside from one time to another: jobs whose expected interval overlaps are not placed on them.
struct QueueWindow {
  enum class Kind : std::uint8_t { reservation, maintenance };
  Kind kind = Kind::maintenance;
  std::string name;
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;
  std::string tenant;               // of a reservation: whose jobs may use it
  std::vector<fabric::GpuId> gpus;  // each once
  friend bool operator==(const QueueWindow&, const QueueWindow&) = default;
};

// A job that would be slower than at its best place by more than `gain` of the time it takes there waits for a better
// place: for at most `share` of its expected duration and `most_us`, once for each start. It keeps its place meanwhile, so
// that it never waits longer; others pass it on other GPUs. Or it yields that place to others, and waits as a job that
// fits on good places alone; from its bound on it takes any place, when its turn comes. Only jobs that say how long they
// run, and none without backfill.
struct PlaceWait {
  static constexpr double kMaxGain = 100;
  static constexpr double kMaxShare = 100;
  double gain = 0.1;
  double share = 0.05;
  std::int64_t most_us = 1800LL * 1'000'000;  // 0: no job waits
  bool yields = false;
  friend bool operator==(const PlaceWait&, const PlaceWait&) = default;
};

// Running jobs that their launchers can start again move to other GPUs, so that the first job that waits for GPUs starts.
struct MoveRules {
  static constexpr std::uint32_t kMaxAtOnce = 64;

  bool automatic = false;                      // else on request only
  std::int64_t after_us = 300LL * 1'000'000;   // how long the job has waited before others move for it by themselves
  double budget_gpu_s = 360'000;               // work since checkpoints that moves may lose in an hour
  std::uint32_t at_once = 8;                   // jobs that are offered another place or are on their way
  std::int64_t answer_us = 300LL * 1'000'000;  // how long an offer stands
  bool evict_unanswered = false;               // an offer without an answer is taken as accepted; else nothing happens
  friend bool operator==(const MoveRules&, const MoveRules&) = default;
};

struct QueuePolicy {
  static constexpr std::size_t kMaxClasses = 1'000;
  static constexpr std::size_t kMaxTenants = 100'000;
  static constexpr std::size_t kMaxWindows = 64;  // that are not over: sets of them are one word
  static constexpr std::size_t kMaxReservedJobs = 1'000;

  // A job whose class is not among them has value 0, evicts no job and is not evicted.
  std::vector<PriorityClass> classes;
  std::vector<TenantQuota> tenants;  // a tenant that is not among them has no quota and weight 1
  std::vector<QueueWindow> windows;
  Backfill backfill = Backfill::easy;
  FairShareRule fair_share = FairShareRule::running;
  std::int64_t half_life_us = 7LL * 24 * 3600 * 1'000'000;
  std::int64_t default_duration_us = 24LL * 3600 * 1'000'000;  // of a job that does not say
  std::int64_t overrun_us = 300LL * 1'000'000;  // a job past its expected end is expected to run this much longer
  std::int64_t starvation_bound_us = 24LL * 3600 * 1'000'000;  // after it a waiting job goes before all others
  std::int64_t least_run_us = 60LL * 1'000'000;  // no job is evicted sooner after its start, so that work gets done
  bool reclaim_any_priority = true;    // borrowed GPUs go back to their owner even from jobs of a higher class
  std::uint32_t reserved_jobs = 64;    // waiting jobs that conservative backfill holds GPUs for
  std::uint32_t preemption_plans = 4;  // attempts of one cycle: each simulates
  PlaceWait place_wait;
  MoveRules moves;
  friend bool operator==(const QueuePolicy&, const QueuePolicy&) = default;
};

// Errors: kind invalid, code "queue.invalidPolicy", location a JSON pointer ("/tenants/3/weight").
Result<void> check_queue_policy(const QueuePolicy& policy);

const PriorityClass* find_class(const QueuePolicy& policy, std::string_view name);

}  // namespace railweave::scheduler
