// What a place of a job comes to on the routes in force, link by link: the interface between the placer, which knows bundles
// of links, and whoever has forwarding tables. One per thread.
#pragma once

#include <optional>
#include <span>

#include "scheduler/placement/score/contention.h"

namespace railweave::scheduler {

class RouteScorer {
 public:
  virtual ~RouteScorer() = default;
  // Beside the jobs that are placed. None: the routes are not known, one path a pair does not say where packets go, or more
  // flows would have to be walked than a choice is worth.
  [[nodiscard]] virtual std::optional<Contention> contention(const JobSpec& spec,
                                                             std::span<const fabric::GpuId> gpu_of_rank) = 0;
};

}  // namespace railweave::scheduler
