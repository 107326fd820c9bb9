#include "scheduler/queue/cycle/wait_reason.h"

#include <cstdio>

#include "fabric/base/text/time_text.h"

namespace railweave::scheduler {
namespace {

std::string expected(const WaitReason& reason) {
  if (reason.at_us == 0) return {};
  std::string text = ": expected at " + whole_second_text(reason.at_us);
  if (reason.job != 0) text += " when " + job_text(reason.job) + " ends";
  return text;
}

std::string quota_text(const WaitReason& reason) {
  std::string text = "quota of tenant " + reason.name + ": holds " + std::to_string(reason.used_gpus) + " of " +
                     std::to_string(reason.quota_gpus) + " GPUs";
  if (reason.borrow_gpus) text += " and may borrow " + std::to_string(*reason.borrow_gpus);
  text += ", the job needs " + std::to_string(reason.needed_gpus);
  if (reason.code == WaitCode::tenant_quota) return text;
  const std::uint64_t left =
      reason.cohort_quota_gpus > reason.cohort_used_gpus ? reason.cohort_quota_gpus - reason.cohort_used_gpus : 0;
  return text + ", and cohort " + reason.cohort + " has " + std::to_string(left) + " of its " +
         std::to_string(reason.cohort_quota_gpus) + " unused";
}

}  // namespace

std::string text(const WaitReason& reason) {
  switch (reason.code) {
    case WaitCode::not_before:
      return "starts no earlier than " + whole_second_text(reason.at_us);
    case WaitCode::behind:
      return "behind " + job_text(reason.job) +
             (reason.higher_priority ? " of higher priority" : ", which is first in the queue");
    case WaitCode::no_capacity:
      return (reason.placement ? reason.placement->explanation.message : std::string("does not fit now")) +
             expected(reason);
    case WaitCode::would_delay:
      return "would delay " + job_text(reason.job) +
             (reason.at_us == 0 ? std::string() : ", which is expected to start at " + whole_second_text(reason.at_us));
    case WaitCode::window:
      return "would overlap '" + reason.name + "', which begins at " + whole_second_text(reason.at_us);
    case WaitCode::tenant_quota:
    case WaitCode::cohort_quota:
      return quota_text(reason) + expected(reason);
    case WaitCode::never_fits:
      return reason.placement ? reason.placement->explanation.message
                              : "does not fit this fabric, even with no other job running";
    case WaitCode::bandwidth:
    case WaitCode::held:
      return reason.name;
    case WaitCode::no_known_time:
      return "does not fit even after all running jobs have ended: nodes are drained or have lost a link; return them "
             "to service";
  }
  return {};
}

std::string job_text(QueueJobId id) {
  char text[32];
  std::snprintf(text, sizeof text, "job-%06llu", static_cast<unsigned long long>(id));
  return text;
}

}  // namespace railweave::scheduler
