#include "scheduler/queue/cycle/cycle_result.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace railweave::scheduler {
namespace {

constexpr std::size_t kNamed = 3;

Message after_waiting(PlaceWaitEnd waited) {
  switch (waited) {
    case PlaceWaitEnd::none:
      break;
    case PlaceWaitEnd::better:
      return {"queue.betterPlace", {"the better place that it waited for is free"}};
    case PlaceWaitEnd::over:
      return {"queue.placeWaitOver", {"has waited for a better place for as long as it may"}};
    case PlaceWaitEnd::equal_next:
      return {"queue.equalNext", {"stops waiting for a better place: a later job like it would go first"}};
  }
  return {};
}

}  // namespace

Message StartedJob::reason() const {
  if (evicted.empty()) {
    if (waited != PlaceWaitEnd::none) return after_waiting(waited);
    return passed_others ? Message("queue.backfilled", {"backfilled: it delays no waiting job"})
                         : Message("queue.free", {"GPUs are free"});
  }
  Message message("queue.usesEvicted", {"uses the GPUs of evicted "});
  std::vector<MessagePart> jobs;
  for (std::size_t i = 0; i < std::min(kNamed, evicted.size()); ++i) jobs.emplace_back(JobPart{evicted[i]});
  append_list(message, std::move(jobs));
  if (evicted.size() > kNamed) message += fmt::format(" and {} more", evicted.size() - kNamed);
  return message;
}

Message EvictedJob::reason() const {
  return {
      reclaimed ? "queue.reclaimed" : "queue.evictedFor",
      {"evicted for ", JobPart{in_favour_of}, reclaimed ? ", whose tenant reclaims its quota" : " of higher priority"}};
}

}  // namespace railweave::scheduler
