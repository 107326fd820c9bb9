#include "scheduler/queue/cycle/cycle_result.h"

namespace railweave::scheduler {

std::string StartedJob::reason() const {
  if (evicted.empty()) return passed_others ? "backfilled: it delays no waiting job" : "GPUs are free";
  std::string text = "uses the GPUs of evicted ";
  for (std::size_t i = 0; i < evicted.size() && i < 3; ++i) text += (i == 0 ? "" : ", ") + job_text(evicted[i]);
  if (evicted.size() > 3) text += " and " + std::to_string(evicted.size() - 3) + " more";
  return text;
}

std::string EvictedJob::reason() const {
  return "evicted for " + job_text(in_favour_of) +
         (reclaimed ? ", whose tenant reclaims its quota" : " of higher priority");
}

}  // namespace railweave::scheduler
