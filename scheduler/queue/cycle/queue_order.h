// The order of waiting jobs: starving jobs first, then classes from high to low; within a class the tenant with the
// smallest share first, and of a tenant's jobs the oldest. A tenant's share rises as its jobs are admitted, so the next
// job is determined one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "scheduler/queue/cycle/job_shapes.h"
#include "scheduler/queue/policy/queue_job.h"
#include "scheduler/queue/policy/queue_policy.h"
#include "scheduler/queue/policy/quota_ledger.h"

namespace railweave::scheduler {

struct QueueEntry {
  const QueuedJob* job = nullptr;
  const PriorityClass* priority = nullptr;  // null: not a class of the policy
  TenantIndex tenant = 0;
  ShapeIndex shape = 0;
  std::uint64_t gpus = 0;
  std::int64_t duration_us = 0;
  bool says_duration = false;  // duration_us is the job's own
  bool starving = false;
  bool picky = false;  // it takes good places alone (QueuePolicy::place_wait, where jobs yield)
  [[nodiscard]] std::int32_t value() const { return priority == nullptr ? 0 : priority->value; }
};

class QueueOrder {
 public:
  using Share = std::function<double(TenantIndex)>;  // smaller goes first

  QueueOrder(std::vector<QueueEntry> entries, Share share);

  // Null after the last one; valid as long as this. Call it once what was drawn before is decided.
  [[nodiscard]] const QueueEntry* next();

 private:
  struct TenantHead {  // the next job of a tenant within a class
    double share;
    std::int64_t submitted_us;
    std::uint64_t turn;
    std::size_t at, end;
    friend bool operator>(const TenantHead& a, const TenantHead& b) {
      return std::tie(a.share, a.submitted_us, a.turn) > std::tie(b.share, b.submitted_us, b.turn);
    }
  };
  void enter(std::size_t at, std::size_t end);
  void open_class();

  std::vector<QueueEntry> entries_;  // by class, tenant and time
  Share share_;
  std::vector<TenantHead> tenant_heads_;  // of the class being drawn from: a heap, the first to go at its front
  std::size_t next_class_ = 0;
  std::size_t drawn_ = 0, drawn_end_ = 0;  // whose turn it was: its tenant's next job enters when the next one is drawn
};

}  // namespace railweave::scheduler
