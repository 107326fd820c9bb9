// The nested groups of one job for one choice of levels, from the inside out: tensor groups, context and expert groups,
// stages, slices, the job. Every piece holds a whole number of the pieces before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/placement/search/level_choices.h"

namespace railweave::scheduler {

struct Piece {
  std::uint64_t gpus;
  Near near;  // at least as near as every piece around it
};

struct JobPieces {
  std::vector<Piece> pieces;
  bool expert_inside = false;                         // expert groups are nested inside context groups
  unsigned stage_spread_level = Hierarchy::kNoLevel;  // each stage in a group of this level of its own

  // The largest piece that shares an NVLink domain.
  [[nodiscard]] std::size_t block() const;
};

// Errors of kind impossible: "jobs.unknownLevel", and "jobs.neverFits" where slices and groups do not nest.
Result<JobPieces> job_pieces_of(const JobSpec& spec, const Hierarchy& hierarchy, const Nearness& nearness);

// The level whose groups things are spread over. Errors: impossible, "jobs.unknownLevel", also where the fabric's
// NVLink domains are not groups of a level.
Result<unsigned> spread_level(fabric::LevelKind kind, const Hierarchy& hierarchy, std::string_view where);

}  // namespace railweave::scheduler
