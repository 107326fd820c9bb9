#include "scheduler/placement/search/job_pieces.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace railweave::scheduler {

using fabric::LevelKind;

namespace {

constexpr std::size_t kStagePiece = 3;  // of nested_groups()

// Nearer first. Domains larger than a node are a level above it.
std::uint64_t order_of(const Near& near, const Hierarchy& hierarchy) {
  const unsigned domain_level = hierarchy.level_of(LevelKind::nvlink_domain);
  const std::uint64_t by_level_alone = std::uint64_t{near.level} * 2 + 1;
  const std::uint64_t by_domain = domain_level == Hierarchy::kNoLevel ? 0 : std::uint64_t{domain_level} * 2;
  return near.domain ? std::min(by_level_alone, by_domain) : by_level_alone;
}

// Where NVLink domains are exactly the groups of a level, stages and jobs inside one domain are counted at that level;
// but not at a level below hosts where whole hosts' shares are counted.
Near as_level(Near near, const JobSpec& spec, const Hierarchy& hierarchy) {
  const unsigned domain_level = hierarchy.level_of(LevelKind::nvlink_domain);
  const bool counted_by_level =
      hierarchy.domains_are_a_level() && (!spec.gpus_per_node || domain_level >= hierarchy.host_level());
  if (!near.domain || !counted_by_level) return near;
  return {false, std::min(near.level, domain_level)};
}

// 1. The groups of ranks, each as near as its own request says.
void nest_groups(const JobSpec& spec, const Hierarchy& hierarchy, const Nearness& nearness, JobPieces& into) {
  const Parallelism& p = spec.parallelism;
  into.expert_inside = order_of(nearness[index_of(JobGroup::expert)], hierarchy) <
                       order_of(nearness[index_of(JobGroup::context)], hierarchy);
  const JobGroup inner = into.expert_inside ? JobGroup::expert : JobGroup::context;
  const JobGroup outer = into.expert_inside ? JobGroup::context : JobGroup::expert;
  std::uint64_t gpus = p.tensor;
  std::vector<Piece>& pieces = into.pieces;
  pieces.push_back({gpus, nearness[index_of(JobGroup::tensor)]});
  pieces.front().near.domain = p.tensor > 1;
  pieces.push_back({gpus *= group_size(p, inner), nearness[index_of(inner)]});
  pieces.push_back({gpus *= group_size(p, outer), nearness[index_of(outer)]});
  if (spec.across_sites && hierarchy.joins_sites()) {
    // Stages and replicas may go to different sites; these groups may not.
    for (Piece& piece : pieces) piece.near.level = std::min(piece.near.level, hierarchy.top(false));
  }
  pieces.push_back({gpus *= p.data, as_level(nearness[index_of(JobGroup::stage)], spec, hierarchy)});
  pieces.push_back({gpus * p.pipeline, as_level(nearness[index_of(JobGroup::job)], spec, hierarchy)});
}

// 2. A stage that has a group of a level to itself stays inside that group, also where it is the only one.
Result<void> keep_stages_apart(const JobSpec& spec, const Hierarchy& hierarchy, JobPieces& into) {
  if (!spec.spread_stages) return {};
  const auto level = spread_level(*spec.spread_stages, hierarchy, "pipeline/spread");
  if (!level) return std::unexpected(level.error());
  if (spec.parallelism.pipeline > 1) into.stage_spread_level = *level;
  unsigned& of_stage = into.pieces[kStagePiece].near.level;
  of_stage = std::min(of_stage, *level);
  return {};
}

// 3. Slices are pieces like any other, between those of the groups.
Result<void> insert_slices(const JobSpec& spec, const Hierarchy& hierarchy, std::vector<Piece>& pieces) {
  for (std::size_t i = 0; i < spec.slices.size(); ++i) {
    const Slice& slice = spec.slices[i];
    const auto near = near_at(slice.level, hierarchy, fmt::format("slices/{}/level", i));
    if (!near) return std::unexpected(near.error());
    const auto above = std::ranges::find_if(pieces, [&](const Piece& piece) { return piece.gpus > slice.gpus; });
    const std::uint64_t below = above == pieces.begin() ? 1 : std::prev(above)->gpus;
    if (slice.gpus % below != 0 || (above != pieces.end() && above->gpus % slice.gpus != 0)) {
      return fail(ErrorKind::impossible, "jobs.neverFits",
                  fmt::format("slices of {} GPUs cut groups of {} in two", slice.gpus,
                              slice.gpus % below != 0 ? below : above->gpus),
                  fmt::format("/topology/slices/{}", i), "use a multiple or a divisor of every group's size");
    }
    pieces.insert(above, {slice.gpus, as_level(*near, spec, hierarchy)});
  }
  return {};
}

// 4. Equal pieces share what is asked of either; a piece is as near as every piece around it.
void propagate_nearness(std::vector<Piece>& pieces) {
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    if (pieces[i].gpus != pieces[i + 1].gpus) continue;
    pieces[i + 1].near.level = std::min(pieces[i].near.level, pieces[i + 1].near.level);
    pieces[i + 1].near.domain = pieces[i].near.domain || pieces[i + 1].near.domain;
  }
  for (std::size_t i = pieces.size() - 1; i-- > 0;) {
    pieces[i].near.level = std::min(pieces[i].near.level, pieces[i + 1].near.level);
    pieces[i].near.domain = (pieces[i].near.domain || pieces[i + 1].near.domain) && pieces[i].gpus > 1;
  }
}

}  // namespace

std::size_t JobPieces::block() const {
  std::size_t block = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].near.domain) block = i;
  }
  return block;
}

Result<unsigned> spread_level(LevelKind kind, const Hierarchy& hierarchy, std::string_view where) {
  const auto near = near_at(kind, hierarchy, where);
  if (!near) return std::unexpected(near.error());
  const unsigned level = near->domain ? hierarchy.level_of(LevelKind::nvlink_domain) : near->level;
  if (level == Hierarchy::kNoLevel) {
    return fail(ErrorKind::impossible, "jobs.unknownLevel", "NVLink domains are no level of this fabric",
                "/topology/" + std::string(where), "spread over nodes or racks");
  }
  return level;
}

Result<JobPieces> job_pieces_of(const JobSpec& spec, const Hierarchy& hierarchy, const Nearness& nearness) {
  JobPieces made;
  nest_groups(spec, hierarchy, nearness, made);
  if (auto done = keep_stages_apart(spec, hierarchy, made); !done) return std::unexpected(done.error());
  if (auto done = insert_slices(spec, hierarchy, made.pieces); !done) return std::unexpected(done.error());
  propagate_nearness(made.pieces);
  return made;
}

}  // namespace railweave::scheduler
