// The inside of QueueCycle::run(): one object per cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/cycle/cycle_result.h"
#include "scheduler/queue/cycle/preemption.h"
#include "scheduler/queue/cycle/queue_input.h"
#include "scheduler/queue/cycle/queue_order.h"
#include "scheduler/queue/cycle/time_profile.h"
#include "scheduler/queue/policy/quota_ledger.h"

namespace railweave::scheduler {

class CycleRun {
 public:
  // Both placers are synced to the same allocations.
  CycleRun(Placer& now, Placer& later, const QueueInput& input);

  CycleResult run();

 private:
  // --- the steps
  [[nodiscard]] std::vector<QueueEntry> heads();  // all that are queued, as placement and quotas see them
  void decide(const QueueEntry& entry);           // one job, in order
  bool nominate(const QueueEntry& entry);         // may it start at all: time and quota
  void place(const QueueEntry& entry);            // that may start
  bool admit(const QueueEntry& entry);
  // Which running jobs may be evicted for one that waits.
  enum class Victims : std::uint8_t {
    all,          // those that its priority allows, and those that hold what its tenant is owed
    own_or_owed,  // by priority only jobs of its own tenant
    owed,         // none by priority
  };
  bool preempt(const QueueEntry& entry, Victims victims);
  void become_head(const QueueEntry& entry);  // the first that waits for GPUs
  void backfill_easy(const QueueEntry& entry);
  void backfill_conservative(const QueueEntry& entry);

  // --- jobs of several shapes (cycle_shapes.cc)
  struct Shape {
    JobSpec spec;
    QueuedJob job;  // in this shape
  };
  [[nodiscard]] const QueuedJob& in_smallest_shape(const QueuedJob& job);
  [[nodiscard]] QueueEntry entry_of(const QueuedJob& job);
  // The shapes in which it fits now and is within its quota, the best first.
  [[nodiscard]] std::vector<QueueEntry> shapes_that_fit(const QueueEntry& entry);
  bool start_in_some_shape(const QueueEntry& entry);

  // --- waiting for a better place (cycle_place_wait.cc)
  struct Kept {
    QueueEntry entry;
    std::int64_t until_us = 0;
    std::vector<fabric::GpuId> gpus;
    std::optional<Placement> placement = {};  // on them; none: its turn is still to come in this cycle
    std::optional<TimeProfile::HoldId> hold = {};
  };
  void keep_again(std::span<const QueueEntry> entries);
  void count_kept(Kept& kept);
  Kept open(std::vector<Kept>::iterator at);  // its GPUs are free again
  void open_own(const QueueEntry& entry);
  [[nodiscard]] std::int64_t latest_start(const QueueEntry& entry) const;
  [[nodiscard]] bool waits_for_place(const QueueEntry& entry, const Placement& placement);
  [[nodiscard]] bool may_start_later(const QueueEntry& entry, const Placement& placement, std::int64_t until_us);
  struct Knowledge {           // of jobs of one shape, under one set of windows
    bool no_capacity = false;  // does not fit now
    // Fits, but would delay the head unless it ends before the head starts: as of that many changes; 0: not known.
    std::uint64_t delays_at = 0;
    bool no_time = false;                  // fits at no time
    double yielded_us = 0;                 // of a step on the place that picky jobs left to others; 0: there is none
    bool no_path = false;                  // fits now, but no links join its ranks
    std::int64_t too_long_us = INT64_MAX;  // a job that runs this long, or longer, overlaps a reservation
  };

  // --- yielding places that are not good enough (cycle_good_place.cc)
  [[nodiscard]] bool is_picky(const QueueEntry& entry) const;
  [[nodiscard]] bool is_good(const JobSpec& spec, const Placement& placement) const;
  Knowledge& known_of_picky(const QueueEntry& entry, std::uint64_t windows);
  [[nodiscard]] bool yielded_a_place(const QueueEntry& entry);  // in this cycle
  [[nodiscard]] WaitReason waits_for_good_place(const QueueEntry& entry);
  // When it is expected to start, as the profile has it: on a good place by its bound, or on any from then on.
  struct Expected {
    std::optional<TimeProfile::Earliest> at;
    bool good = false;
  };
  [[nodiscard]] Expected expected_start(const QueueEntry& entry, std::int64_t from_us);
  [[nodiscard]] std::optional<Placement> place_head_later();

  [[nodiscard]] static bool same_claim(const QueueEntry& a, const QueueEntry& b);
  [[nodiscard]] bool may_exchange(const Kept& earlier, const QueueEntry& later) const;
  [[nodiscard]] bool equal_waits_for_place(const QueueEntry& entry) const;
  bool admit_over_kept(const QueueEntry& entry);

  // --- what they share
  void forget_capacity();
  Knowledge& known(const QueueEntry& entry, std::uint64_t windows);
  [[nodiscard]] std::uint64_t windows_of(const QueueEntry& entry) const;  // that keep it off their GPUs, a bit each
  [[nodiscard]] std::uint64_t exempt_windows(TenantIndex tenant) const;
  void close_windows(std::uint64_t windows);  // takes what is free of them, on the tree of now
  [[nodiscard]] std::optional<Placement> place_now(const QueueEntry& entry, std::uint64_t windows,
                                                   std::span<const fabric::GpuId> keep_free = {});
  [[nodiscard]] bool fits_now(const QueueEntry& entry, std::uint64_t windows);
  // GPUs that the gate may give a job instead of those it was placed on: free in the placer's tree once these windows
  // and GPUs are closed.
  struct Elsewhere {
    Placer* placer = nullptr;
    std::uint64_t windows = 0;                      // on the tree of now alone
    std::span<const fabric::GpuId> keep_free = {};  // as well
  };
  bool start_equal_first(const QueueEntry& entry, const Placement& placement, bool passed_others,
                         const Elsewhere& elsewhere);
  // On a place that it would start at: it waits for a better one, or an earlier job with the same claim starts there and it
  // is placed again, or it starts.
  void use(const QueueEntry& entry, Placement placement, bool passed_others, const Elsewhere& elsewhere);
  // Asks the gate; false: it waits for what the gate says.
  bool start(const QueueEntry& entry, Placement placement, bool passed_others, const Elsewhere& elsewhere);
  void take(const QueueEntry& entry, Placement placement, bool passed_others, std::vector<QueueJobId> evicted);
  [[nodiscard]] bool passes_gate(const QueueEntry& entry, Placement& placement, std::span<const QueueJobId> evicted,
                                 const Elsewhere& elsewhere);
  void close_gpus(std::span<const fabric::GpuId> gpus);  // takes what is free of them, on the tree of now
  void wait(const QueueEntry& entry, WaitReason reason);
  void wait_behind(const QueueEntry& entry);
  void wait_for_quota(const QueueEntry& entry, QuotaLedger::Verdict verdict);
  void open_profile();
  [[nodiscard]] double share(TenantIndex tenant) const;
  [[nodiscard]] std::vector<PossibleVictim> candidates_for(const QueueEntry& entry, Victims victims);
  [[nodiscard]] bool may_go_together(std::span<const PossibleVictim> candidates, TenantIndex claimant,
                                     std::span<const std::size_t> set) const;
  [[nodiscard]] bool quota_without(std::span<const PossibleVictim> candidates, const QueueEntry& entry,
                                   std::span<const std::size_t> set) const;
  void note_wake(std::int64_t at_us);
  // GPUs of a tenant and of its cohort that are released by the expected end of a job, those of earlier ends included.
  struct Release {
    std::int64_t at_us = 0;
    QueueJobId job = 0;
    std::uint64_t own = 0, cohort = 0;
  };
  [[nodiscard]] const std::vector<Release>& releases(TenantIndex tenant);

  Placer& now_placer_;
  Placer& later_placer_;
  const QueueInput& input_;
  const QueuePolicy& policy_;
  const fabric::Topology& topology_;
  const double total_gpus_;
  JobShapes shapes_;
  QuotaLedger ledger_;
  struct {
    std::vector<std::optional<const PriorityClass*>> priority;
    std::vector<std::optional<TenantIndex>> tenant;
    std::vector<std::optional<ShapeIndex>> shape;
  } of_digest_;               // by the numbers of JobDigest
  PlacementTransaction now_;  // what is started and evicted in this cycle; undone at its end

  std::map<QueueJobId, std::deque<Shape>> shapes_of_;  // of jobs with several, from small to large
  bool only_now_ = false;                              // a job is tried in one of its shapes: nothing is held for later
  std::unordered_map<QueueJobId, std::size_t> running_at_;  // index of RunningJob; the evicted are taken out
  std::vector<TenantIndex> running_tenant_;                 // by index
  std::vector<std::uint64_t> started_gpus_;                 // in this cycle, by tenant
  std::deque<Knowledge> known_;                             // by shape, where no windows keep it off
  std::map<std::pair<ShapeIndex, std::uint64_t>, Knowledge> known_beside_windows_;
  // Of picky jobs: which place is good depends on what a job computes and sends as well.
  struct KnownUse {
    const JobSpec* spec;
    std::uint64_t windows;
    Knowledge knowledge = {};
  };
  std::map<ShapeIndex, std::deque<KnownUse>> known_of_picky_;
  std::vector<fabric::GpuId> scratch_gpus_;
  std::vector<Kept> kept_;                // in the order of the queue, those that are decided last
  std::vector<std::uint64_t> kept_gpus_;  // by tenant

  std::optional<TimeProfile> profile_;
  struct Head {
    QueueEntry entry;
    std::int64_t at_us = 0;
    bool good = false;                // it is to be a good place
    std::vector<fabric::GpuId> gpus;  // a place for it at that time
  };
  void plan_head(const Placement& placement) {
    head_->gpus = placement.held_gpus();
    ++changes_;
  }
  std::optional<Head> head_;
  struct Started {
    QueueJobId job;
    std::size_t at;  // in result_.starts
    std::int64_t end_us;
    TenantIndex tenant;
  };
  std::vector<Started> started_;
  // The starving job that waits at the gate: no other job passes the gate until it has started; 0: none.
  QueueJobId gate_kept_for_ = 0;
  std::map<TenantIndex, std::vector<Release>> releases_;  // as of releases_at_
  std::size_t releases_at_ = 0;                           // starts and evictions so far
  std::uint64_t changes_ = 1;                             // of what is taken, and of the head's place
  std::uint32_t reserved_ = 0;
  std::uint32_t plans_ = 0;
  CycleResult result_;
};

}  // namespace railweave::scheduler
