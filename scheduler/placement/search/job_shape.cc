#include "scheduler/placement/search/job_shape.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "scheduler/placement/search/job_spread.h"

namespace railweave::scheduler {
namespace {

using fabric::LevelKind;

constexpr std::size_t at(JobGroup group) { return static_cast<std::size_t>(group); }

struct Piece {
  std::uint64_t gpus;
  Near near;
};

std::uint64_t size_of(const Parallelism& p, JobGroup group) {
  switch (group) {
    case JobGroup::tensor:
      return p.tensor;
    case JobGroup::context:
      return p.context;
    case JobGroup::expert:
      return p.expert;
    case JobGroup::stage:
    case JobGroup::job:
      return rank_count(p);
  }
  return 1;
}

Result<Near> near_at(LevelKind kind, const Hierarchy& hierarchy, std::string_view where) {
  if (kind == LevelKind::nvlink_domain) return Near{true, Hierarchy::kNoLevel};
  if (const unsigned level = hierarchy.level_of(kind); level != Hierarchy::kNoLevel) return Near{false, level};
  std::string known;
  for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
    known += (known.empty() ? "" : ", ") + std::string(to_string(hierarchy.kind(level)));
  }
  return fail(ErrorKind::impossible, "jobs.unknownLevel",
              "this fabric has no level '" + std::string(to_string(kind)) + "'", "/topology/" + std::string(where),
              "its levels are " + known);
}

// The choices for one group: the preferred level, each farther one, and what is required.
Result<std::vector<Near>> chain_of(const LevelRequest& request, const Hierarchy& hierarchy, std::string_view where,
                                   bool prefer_domain) {
  Near required;
  if (request.required) {
    const auto near = near_at(*request.required, hierarchy, std::string(where) + "/required");
    if (!near) return std::unexpected(near.error());
    required = *near;
  }
  std::vector<Near> chain;
  if (request.preferred) {
    const auto near = near_at(*request.preferred, hierarchy, std::string(where) + "/preferred");
    if (!near) return std::unexpected(near.error());
    if (near->domain) {
      chain.push_back({true, required.level});
    } else {
      for (unsigned level = near->level; level < std::min(required.level, hierarchy.level_count()); ++level) {
        chain.push_back({required.domain, level});
      }
    }
  } else if (prefer_domain && !required.domain) {
    chain.push_back({true, required.level});
  }
  if (chain.empty() || !(chain.back() == required)) chain.push_back(required);
  return chain;
}

// Slices are pieces like any other, between those of the groups.
Result<void> insert_slices(const JobSpec& spec, const Hierarchy& hierarchy, auto&& by_level,
                           std::vector<Piece>& pieces) {
  for (std::size_t i = 0; i < spec.slices.size(); ++i) {
    const Slice& slice = spec.slices[i];
    const auto near = near_at(slice.level, hierarchy, "slices/" + std::to_string(i) + "/level");
    if (!near) return std::unexpected(near.error());
    const auto above = std::ranges::find_if(pieces, [&](const Piece& piece) { return piece.gpus > slice.gpus; });
    const std::uint64_t below = above == pieces.begin() ? 1 : std::prev(above)->gpus;
    if (slice.gpus % below != 0 || (above != pieces.end() && above->gpus % slice.gpus != 0)) {
      return fail(ErrorKind::impossible, "jobs.neverFits",
                  "slices of " + std::to_string(slice.gpus) + " GPUs cut groups of " +
                      std::to_string(slice.gpus % below != 0 ? below : above->gpus) + " in two",
                  "/topology/slices/" + std::to_string(i), "use a multiple or a divisor of every group's size");
    }
    pieces.insert(above, {slice.gpus, by_level(*near)});
  }
  return {};
}

}  // namespace

Nearness Wishes::required() const {
  Nearness nearness;
  for (std::size_t i = 0; i < kJobGroups; ++i) nearness[i] = chain[i].back();
  return nearness;
}

Result<Wishes> wishes_of(const JobSpec& spec, const Hierarchy& hierarchy) {
  struct Asked {
    JobGroup group;
    const LevelRequest* request;
    std::string_view where;
  };
  const Asked asked[] = {{JobGroup::tensor, &spec.tensor, "tensor"},
                         {JobGroup::context, &spec.context, "context"},
                         {JobGroup::expert, &spec.expert, "expert"},
                         {JobGroup::stage, &spec.stage, "pipeline"},
                         {JobGroup::job, &spec.job, "job"}};
  Wishes wishes;
  for (const auto& [group, request, where] : asked) {
    const bool inner = group == JobGroup::context || group == JobGroup::expert;
    auto chain = chain_of(*request, hierarchy, where, inner);
    if (!chain) return std::unexpected(chain.error());
    if (size_of(spec.parallelism, group) == 1) chain->assign(1, Near{});  // one GPU is near itself
    wishes.chain[at(group)] = std::move(*chain);
  }
  if (spec.exclusive && *spec.exclusive != LevelKind::nvlink_domain) {
    if (const auto near = near_at(*spec.exclusive, hierarchy, "exclusive"); !near) return std::unexpected(near.error());
  }
  for (const bool explicitly : {true, false}) {
    for (const auto& [group, request, where] : asked) {
      if (wishes.chain[at(group)].size() > 1 && request->preferred.has_value() == explicitly)
        wishes.order.push_back(group);
    }
  }
  return wishes;
}

std::uint64_t JobShape::units() const {
  std::uint64_t units = count;
  for (const auto& rung : rungs) units *= rung.factor;
  return units;
}

Result<JobShape> shape_of(const JobSpec& spec, const Hierarchy& hierarchy, const Nearness& nearness,
                          std::shared_ptr<const LeafFilter> filter) {
  const Parallelism& p = spec.parallelism;
  // Which of context and expert groups is to be the nearer one. Domains larger than a node are a level above it.
  const auto rank_of_near = [&](const Near& near) {
    const unsigned domain_level = hierarchy.level_of(LevelKind::nvlink_domain);
    const std::uint64_t by_level_alone = std::uint64_t{near.level} * 2 + 1;
    const std::uint64_t by_domain = domain_level == Hierarchy::kNoLevel ? 0 : std::uint64_t{domain_level} * 2;
    return near.domain ? std::min(by_level_alone, by_domain) : by_level_alone;
  };
  // Where NVLink domains are exactly the groups of a level, stages and jobs inside one are a matter of that level; but
  // not of a level below hosts where what is counted is whole hosts' shares.
  const bool levels_do =
      hierarchy.domains_are_a_level() &&
      (!spec.gpus_per_node || hierarchy.level_of(LevelKind::nvlink_domain) >= hierarchy.host_level());
  const auto by_level = [&](Near near) {
    if (near.domain && levels_do) {
      near = {false, std::min(near.level, hierarchy.level_of(LevelKind::nvlink_domain))};
    }
    return near;
  };
  JobShape shape;
  shape.expert_inside = rank_of_near(nearness[at(JobGroup::expert)]) < rank_of_near(nearness[at(JobGroup::context)]);
  const JobGroup inner = shape.expert_inside ? JobGroup::expert : JobGroup::context;
  const JobGroup outer = shape.expert_inside ? JobGroup::context : JobGroup::expert;

  // Pieces from the inside out. Equal pieces share what is asked of either; a piece must also be as near as every piece
  // around it.
  std::uint64_t gpus = p.tensor;
  std::vector<Piece> pieces{{gpus, nearness[at(JobGroup::tensor)]}};
  pieces.front().near.domain = p.tensor > 1;
  pieces.push_back({gpus *= size_of(p, inner), nearness[at(inner)]});
  pieces.push_back({gpus *= size_of(p, outer), nearness[at(outer)]});
  if (spec.across_sites && hierarchy.joins_sites()) {
    // Whatever goes across sites, these groups do not.
    for (Piece& piece : pieces) piece.near.level = std::min(piece.near.level, hierarchy.top(false));
  }
  pieces.push_back({gpus *= p.data, by_level(nearness[at(JobGroup::stage)])});
  pieces.push_back({gpus * p.pipeline, by_level(nearness[at(JobGroup::job)])});
  unsigned spread_level = Hierarchy::kNoLevel;
  if (spec.spread_stages && p.pipeline > 1) {
    const auto near = near_at(*spec.spread_stages, hierarchy, "pipeline/spread");
    if (!near) return std::unexpected(near.error());
    spread_level = near->domain ? hierarchy.level_of(LevelKind::nvlink_domain) : near->level;
    if (spread_level == Hierarchy::kNoLevel) {
      return fail(ErrorKind::impossible, "jobs.unknownLevel", "NVLink domains are no level of this fabric",
                  "/topology/pipeline/spread", "spread over nodes or racks");
    }
    pieces[3].near.level = std::min(pieces[3].near.level, spread_level);
  }
  if (auto inserted = insert_slices(spec, hierarchy, by_level, pieces); !inserted) {
    return std::unexpected(inserted.error());
  }
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    if (pieces[i].gpus != pieces[i + 1].gpus) continue;
    pieces[i + 1].near.level = std::min(pieces[i].near.level, pieces[i + 1].near.level);
    pieces[i + 1].near.domain = pieces[i].near.domain || pieces[i + 1].near.domain;
  }
  for (std::size_t i = pieces.size() - 1; i-- > 0;) {
    pieces[i].near.level = std::min(pieces[i].near.level, pieces[i + 1].near.level);
    pieces[i].near.domain = (pieces[i].near.domain || pieces[i + 1].near.domain) && pieces[i].gpus > 1;
  }
  const unsigned top = hierarchy.top(spec.across_sites);
  shape.max_level = std::min(pieces.back().near.level, top);

  // The block: the largest piece that shares an NVLink domain.
  std::size_t block = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].near.domain) block = i;
  }
  shape.fit.filter = std::move(filter);
  shape.fit.block = static_cast<std::uint32_t>(pieces[block].gpus);
  shape.fit.nvlink = pieces[block].near.domain;
  shape.fit.straddle_top = shape.fit.nvlink ? std::min(pieces[block].near.level, top) : 0;
  for (std::size_t i = 0; i < block; ++i) {
    if (pieces[i].near.level >= pieces[block].near.level) continue;
    // A piece inside the block that must be nearer than the block. Above hosts the whole block is kept that near, which
    // asks for more than is needed where a domain spans racks.
    if (pieces[i].near.level <= hierarchy.host_level()) {
      shape.fit.grain = static_cast<std::uint32_t>(pieces[i].gpus);
    } else {
      shape.fit.straddle_top = std::min(shape.fit.straddle_top, pieces[i].near.level);
    }
  }

  unsigned cap_level = Hierarchy::kNoLevel;
  if (spec.spread) {
    const auto near = near_at(spec.spread->level, hierarchy, "spread/level");
    if (!near) return std::unexpected(near.error());
    cap_level = near->domain ? hierarchy.level_of(LevelKind::nvlink_domain) : near->level;
    if (cap_level == Hierarchy::kNoLevel) {
      return fail(ErrorKind::impossible, "jobs.unknownLevel", "NVLink domains are no level of this fabric",
                  "/topology/spread/level", "spread over nodes or racks");
    }
    // What one group gives is counted in whole blocks: none straddles two.
    shape.fit.straddle_top = std::min(shape.fit.straddle_top, cap_level);
  }

  shape.nested_gpus.push_back(shape.fit.block);
  if (spec.gpus_per_node) {
    const std::uint32_t k = *spec.gpus_per_node;
    if (k < shape.fit.block && k % shape.fit.grain != 0) {
      return fail(ErrorKind::impossible, "jobs.neverFits",
                  "groups of " + std::to_string(shape.fit.grain) +
                      " GPUs cannot each stay on one node where every node gives " + std::to_string(k),
                  {}, "use a multiple for gpusPerNode");
    }
    shape.fit.per_node = k;
    // Blocks that share nodes unevenly fill whole nodes only several together, inside one domain.
    if (k % shape.fit.block != 0) shape.fit.block = std::lcm(shape.fit.block, k);
  }
  std::uint64_t size = std::max(shape.fit.block, shape.fit.per_node);
  for (std::size_t i = block + 1; i + 1 < pieces.size(); ++i) {
    if (pieces[i].gpus > shape.nested_gpus.back()) shape.nested_gpus.push_back(pieces[i].gpus);
    const unsigned level = pieces[i].near.level;
    // A piece as near as a larger one around it follows from that one.
    if (level == Hierarchy::kNoLevel || level == pieces[i + 1].near.level || pieces[i].gpus == pieces[i + 1].gpus)
      continue;
    if (size % pieces[i].gpus == 0) continue;  // inside one unit
    // Pieces that share nodes lie in the same group, so it is the fewest that fill whole nodes together that matter.
    const std::uint64_t whole = std::lcm(size, pieces[i].gpus);
    shape.rungs.push_back({level, whole / size});
    size = whole;
  }
  const std::uint64_t ranks = pieces.back().gpus;
  if (ranks > shape.nested_gpus.back()) shape.nested_gpus.push_back(ranks);
  shape.count = ranks / size;
  const auto over_sites = [&](unsigned level) {
    return level != Hierarchy::kNoLevel && level >= hierarchy.top(false) && hierarchy.joins_sites();
  };
  const bool stages_over_sites = over_sites(spread_level);
  const bool job_over_sites = over_sites(cap_level) && ranks > spec.spread->max_gpus_per_group;
  if (!spec.across_sites && (stages_over_sites || job_over_sites)) {
    return fail(ErrorKind::impossible, "jobs.neverFits", "a job is spread over sites only where it may span them",
                stages_over_sites ? "/topology/pipeline/spread" : "/topology/spread", "say \"acrossSites\": true");
  }
  if (spread_level != Hierarchy::kNoLevel) {
    if (auto spread = spread_stages(spec, spread_level, shape); !spread) return std::unexpected(spread.error());
  }
  if (cap_level != Hierarchy::kNoLevel) {
    if (auto spread = limit_groups(spec, cap_level, shape); !spread) return std::unexpected(spread.error());
  }
  return shape;
}

std::uint64_t rank_at(const Parallelism& parallelism, bool expert_inside, std::uint64_t position, PackingOrder order) {
  if (!expert_inside && order == PackingOrder::stages) return position;
  RankCoordinates coordinates;
  const auto digit = [&position](std::uint32_t base) {
    const auto value = static_cast<std::uint32_t>(position % base);
    position /= base;
    return value;
  };
  coordinates.tp = digit(parallelism.tensor);
  if (expert_inside) coordinates.ep = digit(parallelism.expert);
  coordinates.cp = digit(parallelism.context);
  if (!expert_inside) coordinates.ep = digit(parallelism.expert);
  if (order == PackingOrder::replicas) coordinates.pp = digit(parallelism.pipeline);
  coordinates.dp = digit(parallelism.data);
  if (order == PackingOrder::stages) coordinates.pp = static_cast<std::uint32_t>(position);
  return rank_of(parallelism, coordinates);
}

}  // namespace railweave::scheduler
