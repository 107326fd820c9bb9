#include "scheduler/queue/cycle/wait_reason.h"

#include <cmath>
#include <string>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"

namespace railweave::scheduler {
namespace {

Message quota_words(const WaitReason& reason) {
  const auto gpus = [](std::uint64_t count) { return AmountPart{static_cast<std::int64_t>(count), "GPUs"}; };
  Message said("", {"quota of tenant ", TenantPart{reason.name}, fmt::format(": holds {} of ", reason.used_gpus),
                    gpus(reason.quota_gpus)});
  if (reason.borrow_gpus) said += fmt::format(" and may borrow {}", *reason.borrow_gpus);
  said += fmt::format(", the job needs {}", reason.needed_gpus);
  if (reason.code == WaitCode::tenant_quota) return said;
  const std::uint64_t left =
      reason.cohort_quota_gpus > reason.cohort_used_gpus ? reason.cohort_quota_gpus - reason.cohort_used_gpus : 0;
  return said + (fmt::format(", and cohort {} has {} of its {} unused", reason.cohort, left, reason.cohort_quota_gpus));
}

// The one reason that says until when: it is a bound, not a forecast.
Message better_place_words(const WaitReason& reason) {
  constexpr double kPercent = 100;
  const auto slower = std::llround(kPercent * (reason.here_us / reason.best_us - 1));
  if (reason.yields) {
    return {
        "",
        {fmt::format("leaves places where it would be at least {}% slower than at its best to others, and waits for "
                     "a better one until {}; from then on it takes any",
                     slower, whole_second_text(reason.at_us))}};
  }
  return {
      "",
      {fmt::format("keeps a place where it would be {}% slower than at its best, and waits for a better one until {}",
                   slower, whole_second_text(reason.at_us))}};
}

Message words(const WaitReason& reason) {
  switch (reason.code) {
    case WaitCode::not_before:
      return "starts no earlier than " + whole_second_text(reason.at_us);
    case WaitCode::behind:
      return {"",
              {"behind ", JobPart{reason.job},
               reason.higher_priority ? " of higher priority" : ", which is first in the queue"}};
    case WaitCode::no_capacity:
      return reason.placement ? reason.placement->explanation.whole() : Message("does not fit now");
    case WaitCode::would_delay:
      return {"", {"would delay ", JobPart{reason.job}}};
    case WaitCode::window:
      return {
          "",
          {"would overlap '", ReservationPart{reason.name}, "', which begins at " + whole_second_text(reason.at_us)}};
    case WaitCode::tenant_quota:
    case WaitCode::cohort_quota:
      return quota_words(reason);
    case WaitCode::never_fits:
      return reason.placement ? reason.placement->explanation.whole()
                              : Message("does not fit this fabric, even with no other job running");
    case WaitCode::bandwidth:
    case WaitCode::held:
      return reason.why;
    case WaitCode::better_place:
      return better_place_words(reason);
    case WaitCode::no_known_time:
      return "does not fit even after all running jobs have ended: nodes are drained or have lost a link; return them "
             "to service";
  }
  return {};
}

}  // namespace

Message said(const WaitReason& reason) {
  const std::string code = "waits." + std::string(railweave::to_text(reason.code));
  return words(reason).with_code(code);
}

}  // namespace railweave::scheduler
