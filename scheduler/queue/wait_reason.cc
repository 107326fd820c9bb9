#include "scheduler/queue/wait_reason.h"

#include <cstdio>

namespace railweave::scheduler {
namespace {

std::string expected(const WaitReason& reason) {
  if (reason.at_us == 0) return {};
  std::string text = ": expected at " + time_text(reason.at_us);
  if (reason.job != 0) text += " when " + job_text(reason.job) + " ends";
  return text;
}

}  // namespace

std::string_view to_string(WaitCode code) {
  switch (code) {
    case WaitCode::not_before:
      return "notBefore";
    case WaitCode::behind:
      return "behind";
    case WaitCode::no_capacity:
      return "noCapacity";
    case WaitCode::would_delay:
      return "wouldDelay";
    case WaitCode::window:
      return "window";
    case WaitCode::tenant_quota:
      return "quotaOfTenant";
    case WaitCode::cohort_quota:
      return "quotaOfCohort";
    case WaitCode::never_fits:
      return "neverFits";
    case WaitCode::bandwidth:
      return "bandwidth";
    case WaitCode::no_known_time:
      return "noKnownTime";
  }
  return "noCapacity";
}

std::string text(const WaitReason& reason) {
  const std::string used = std::to_string(reason.used_gpus) + " of " + std::to_string(reason.quota_gpus) + " GPUs";
  switch (reason.code) {
    case WaitCode::not_before:
      return "starts not before " + time_text(reason.at_us);
    case WaitCode::behind:
      return "behind " + job_text(reason.job) + (reason.higher_priority ? " of higher priority" : ", which was first");
    case WaitCode::no_capacity:
      return (reason.placement ? reason.placement->explanation.message : std::string("does not fit now")) +
             expected(reason);
    case WaitCode::would_delay:
      return "would delay " + job_text(reason.job) +
             (reason.at_us == 0 ? std::string() : ", which is expected to start at " + time_text(reason.at_us));
    case WaitCode::window:
      return "would run into '" + reason.name + "', which begins at " + time_text(reason.at_us);
    case WaitCode::tenant_quota:
      return "quota of tenant " + reason.name + ": holds " + used;
    case WaitCode::cohort_quota:
      return "tenant " + reason.name + " has used up its quota (" + used +
             ") and the others of its cohort leave too little to borrow";
    case WaitCode::never_fits:
      return reason.placement ? reason.placement->explanation.message : "no state of this fabric can hold it";
    case WaitCode::bandwidth:
      return reason.name;
    case WaitCode::no_known_time:
      return "does not fit even when all that runs has ended: nodes are drained or short of a link";
  }
  return {};
}

std::string job_text(QueueJobId id) {
  char text[32];
  std::snprintf(text, sizeof text, "job-%06llu", static_cast<unsigned long long>(id));
  return text;
}

// Days to civil date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". <chrono> has clocks, so it stays
// out of here.
std::string time_text(std::int64_t unix_us) {
  constexpr std::int64_t kDay = 86'400'000'000;
  std::int64_t days = unix_us / kDay;
  std::int64_t rest = unix_us % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  const std::int64_t shifted = days + 719'468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const auto day_of_era = shifted - era * 146'097;
  const auto year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const auto day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const auto month_part = (5 * day_of_year + 2) / 153;
  const auto day = day_of_year - (153 * month_part + 2) / 5 + 1;
  const auto month = month_part < 10 ? month_part + 3 : month_part - 9;
  const auto year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  const std::int64_t s = rest / 1'000'000;
  char text[64];
  std::snprintf(text, sizeof text, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lldZ", static_cast<long long>(year),
                static_cast<long long>(month), static_cast<long long>(day), static_cast<long long>(s / 3600),
                static_cast<long long>(s / 60 % 60), static_cast<long long>(s % 60));
  return text;
}

}  // namespace railweave::scheduler
