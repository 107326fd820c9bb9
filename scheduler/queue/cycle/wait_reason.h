// Why a job waits: one record per job and cycle, small enough for 10,000 of them. said() is for people and for the
// job's history.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/enum_text.h"
#include "fabric/base/message.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

enum class WaitCode : std::uint8_t {
  not_before,     // its earliest start is later: at_us
  behind,         // another job goes first: job; why: higher_priority
  no_capacity,    // it does not fit now; at_us and job: when, and which job's end is expected to free GPUs
  would_delay,    // it would fit, but for longer than the job it would delay can wait: job, at_us
  window,         // it would fit but for a reservation or maintenance: window
  tenant_quota,   // its tenant may hold no more: quota_gpus; at_us and job: when, and which job's end releases enough
  cohort_quota,   // what the others of its cohort leave unused is not enough; at_us and job as well
  never_fits,     // no state of this fabric can hold it
  bandwidth,      // GPUs are free, the bandwidth of its guarantee is not: why
  no_known_time,  // does not fit even when all that runs has ended: nodes are drained or short of a link
  held,           // a user holds it back: why says who
  better_place,   // it could start, but slower than elsewhere: at_us, here_us, best_us
};
BOOST_DESCRIBE_ENUM(WaitCode, not_before, behind, no_capacity, would_delay, window, tenant_quota, cohort_quota,
                    never_fits, bandwidth, no_known_time, held, better_place)
constexpr std::optional<std::string_view> enum_exception(WaitCode code) {
  return code == WaitCode::tenant_quota   ? std::optional<std::string_view>("quotaOfTenant")
         : code == WaitCode::cohort_quota ? std::optional<std::string_view>("quotaOfCohort")
                                          : std::nullopt;
}

struct WaitReason {
  WaitCode code = WaitCode::no_capacity;
  bool higher_priority = false;
  bool yields =
      false;  // of better_place: others may take the place that it could have; at_us is then no time of a start
  bool starving = false;   // it waited for longer than the bound: nothing passes it
  QueueJobId job = 0;      // the job that matters, 0: none
  std::int64_t at_us = 0;  // 0: not known
  std::uint64_t quota_gpus = 0;
  std::uint64_t used_gpus = 0;
  std::uint64_t needed_gpus = 0;  // that the job would hold
  std::uint64_t cohort_quota_gpus = 0, cohort_used_gpus = 0;
  double here_us = 0, best_us = 0;           // of better_place: a step where it could start, and where it is best
  std::optional<std::uint64_t> borrow_gpus;  // the most its tenant may borrow
  std::string name;                          // of the tenant or window
  Message why;                               // of bandwidth and held
  std::string cohort;                        // of the tenant; empty: it is in none
  std::shared_ptr<const PlacementResult> placement;  // of the job that waits for GPUs: why it does not fit

  friend bool same_reason(const WaitReason& a, const WaitReason& b) {  // no new line in the history
    return a.code == b.code && a.job == b.job && a.at_us == b.at_us && a.name == b.name && a.why == b.why;
  }
};
// Without when that ends: a forecast of all that happens until then says it, and no other number is told.
// Its code is "waits." and that of the reason.
Message said(const WaitReason& reason);

}  // namespace railweave::scheduler
