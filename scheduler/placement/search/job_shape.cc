#include "scheduler/placement/search/job_shape.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "scheduler/placement/search/job_pieces.h"
#include "scheduler/placement/search/job_spread.h"

namespace railweave::scheduler {

namespace {

// 1. What must stay whole: the largest piece that shares an NVLink domain, with the pieces inside it that must be
// nearer.
void cut_block(const std::vector<Piece>& pieces, std::size_t block, const Hierarchy& hierarchy, unsigned top,
               FitShape& fit) {
  fit.block = static_cast<std::uint32_t>(pieces[block].gpus);
  fit.nvlink = pieces[block].near.domain;
  fit.straddle_top = fit.nvlink ? std::min(pieces[block].near.level, top) : 0;
  for (std::size_t i = 0; i < block; ++i) {
    if (pieces[i].near.level >= pieces[block].near.level) continue;
    // Above hosts the whole block is kept as near as its nearest piece, which is stricter than asked where a domain
    // spans racks.
    if (pieces[i].near.level <= hierarchy.host_level()) {
      fit.grain = static_cast<std::uint32_t>(pieces[i].gpus);
    } else {
      fit.straddle_top = std::min(fit.straddle_top, pieces[i].near.level);
    }
  }
}

// 2. Every node that is used gives exactly k GPUs.
Result<void> fix_gpus_per_node(std::uint32_t k, FitShape& fit) {
  if (k < fit.block && k % fit.grain != 0) {
    return fail(ErrorKind::impossible, "jobs.neverFits",
                fmt::format("groups of {} GPUs cannot each stay on one node where every node gives {}", fit.grain, k),
                {}, "use a multiple for gpusPerNode");
  }
  fit.per_node = k;
  // Blocks that share nodes unevenly fill whole nodes only several together, inside one domain.
  if (k % fit.block != 0) fit.block = std::lcm(fit.block, k);
  return {};
}

// 3. Rungs for the pieces above the block; the count of the last ones. nested_gpus has the block already.
void add_rungs(const std::vector<Piece>& pieces, std::size_t block, JobShape& shape) {
  std::uint64_t size = std::max(shape.fit.block, shape.fit.per_node);
  for (std::size_t i = block + 1; i + 1 < pieces.size(); ++i) {
    if (pieces[i].gpus > shape.nested_gpus.back()) shape.nested_gpus.push_back(pieces[i].gpus);
    const unsigned level = pieces[i].near.level;
    // A piece as near as a larger one around it follows from that one.
    if (level == Hierarchy::kNoLevel || level == pieces[i + 1].near.level || pieces[i].gpus == pieces[i + 1].gpus)
      continue;
    if (size % pieces[i].gpus == 0) continue;  // inside one unit
    // Pieces that share nodes lie in the same group, so the rung is the fewest that fill whole nodes together.
    const std::uint64_t whole = std::lcm(size, pieces[i].gpus);
    shape.rungs.push_back({level, whole / size});
    size = whole;
  }
  const std::uint64_t ranks = pieces.back().gpus;
  if (ranks > shape.nested_gpus.back()) shape.nested_gpus.push_back(ranks);
  shape.count = ranks / size;
}

// 4. Spreading over sites needs permission to span them.
Result<void> check_sites(const JobSpec& spec, const Hierarchy& hierarchy, unsigned stage_level, unsigned cap_level) {
  if (spec.across_sites) return {};
  const auto over_sites = [&](unsigned level) {
    return level != Hierarchy::kNoLevel && level >= hierarchy.top(false) && hierarchy.joins_sites();
  };
  const bool stages_over_sites = over_sites(stage_level);
  const bool job_over_sites = over_sites(cap_level) && rank_count(spec.parallelism) > spec.spread->max_gpus_per_group;
  if (!stages_over_sites && !job_over_sites) return {};
  return fail(ErrorKind::impossible, "jobs.neverFits", "a job is spread over sites only where it may span them",
              stages_over_sites ? "/topology/pipeline/spread" : "/topology/spread", "set \"acrossSites\": true");
}

}  // namespace

std::uint64_t JobShape::units() const {
  std::uint64_t units = count;
  for (const auto& rung : rungs) units *= rung.factor;
  return units;
}

Result<JobShape> shape_of(const JobSpec& spec, const Hierarchy& hierarchy, const Nearness& nearness,
                          std::shared_ptr<const LeafFilter> filter) {
  const auto nested = job_pieces_of(spec, hierarchy, nearness);
  if (!nested) return std::unexpected(nested.error());
  const std::vector<Piece>& pieces = nested->pieces;
  const std::size_t block = nested->block();
  const unsigned top = hierarchy.top(spec.across_sites);

  JobShape shape;
  shape.expert_inside = nested->expert_inside;
  shape.max_level = std::min(pieces.back().near.level, top);
  shape.fit.filter = std::move(filter);
  cut_block(pieces, block, hierarchy, top, shape.fit);
  unsigned cap_level = Hierarchy::kNoLevel;
  if (spec.spread) {
    const auto level = spread_level(spec.spread->level, hierarchy, "spread/level");
    if (!level) return std::unexpected(level.error());
    cap_level = *level;
    // What one group gives is counted in whole blocks: none straddles two.
    shape.fit.straddle_top = std::min(shape.fit.straddle_top, cap_level);
  }
  shape.nested_gpus.push_back(shape.fit.block);
  if (spec.gpus_per_node) {
    if (auto done = fix_gpus_per_node(*spec.gpus_per_node, shape.fit); !done) return std::unexpected(done.error());
  }
  add_rungs(pieces, block, shape);
  const unsigned stage_level = nested->stage_spread_level;
  if (auto done = check_sites(spec, hierarchy, stage_level, cap_level); !done) return std::unexpected(done.error());
  if (stage_level != Hierarchy::kNoLevel) {
    if (auto done = spread_stages(spec, stage_level, shape); !done) return std::unexpected(done.error());
  }
  if (cap_level != Hierarchy::kNoLevel) {
    if (auto done = limit_groups(spec, cap_level, shape); !done) return std::unexpected(done.error());
  }
  return shape;
}

}  // namespace railweave::scheduler
