#include "scheduler/placement/search/job_spread.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace railweave::scheduler {

Result<void> spread_stages(const JobSpec& spec, unsigned level, JobShape& shape) {
  const std::uint64_t stage = rank_count(spec.parallelism) / spec.parallelism.pipeline;
  std::uint64_t size = std::max(shape.fit.block, shape.fit.per_node);
  std::size_t rung = 0;
  for (; rung < shape.rungs.size() && size < stage; ++rung) size *= shape.rungs[rung].factor;
  const bool contained = rung == shape.rungs.size() && (rung == 0 || shape.rungs.back().level <= level);
  if (size > stage || shape.max_level <= level || !contained) {
    return fail(ErrorKind::impossible, "jobs.neverFits",
                "pipeline stages cannot be apart and share a node, a slice or a group that is as near",
                "/topology/pipeline/spread", "request one or the other");
  }
  if (size < stage) {
    shape.rungs.push_back({level, stage / size, 1});
    shape.count = spec.parallelism.pipeline;
  } else if (!shape.rungs.empty() && shape.rungs.back().level == level) {
    shape.rungs.back().most = 1;
  } else {
    shape.rungs.push_back({level, 1, 1});
  }
  shape.min_level = level + 1;
  return {};
}

Result<void> limit_groups(const JobSpec& spec, unsigned level, JobShape& shape) {
  const std::uint64_t most_gpus = spec.spread->max_gpus_per_group;
  std::uint64_t size = std::max(shape.fit.block, shape.fit.per_node);
  std::size_t at = 0;  // of the first rung above the level: the cap stands before it
  for (; at < shape.rungs.size() && shape.rungs[at].level <= level; ++at) size *= shape.rungs[at].factor;
  const auto impossible = [&](std::string message, std::string hint) {
    return fail(ErrorKind::impossible, "jobs.neverFits", std::move(message), "/topology/spread", std::move(hint));
  };
  if (most_gpus < size) {
    return impossible(
        fmt::format("pieces of {} GPUs must each stay in one group of the level, which is to hold at most {}", size,
                    most_gpus),
        "allow at least one piece, or a farther level for it");
  }
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(most_gpus / size, UINT32_MAX));
  std::uint64_t job_gpus = shape.nested_gpus.back();
  if (job_gpus > most_gpus && shape.max_level <= level) {
    return impossible("the job must stay in one group of a level and be spread over several",
                      "request one or the other");
  }
  if (at > 0 && shape.rungs[at - 1].level == level) {
    shape.rungs[at - 1].most = std::min(shape.rungs[at - 1].most, most);
  } else {
    shape.rungs.insert(shape.rungs.begin() + static_cast<std::ptrdiff_t>(at), Rung{level, 1, most});
  }
  if (job_gpus > most_gpus) shape.min_level = std::max(shape.min_level, level + 1);
  return {};
}

}  // namespace railweave::scheduler
