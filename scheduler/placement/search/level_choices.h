// Which levels a job may use for each of its groups of ranks, from preferred to required.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/hierarchy.h"

namespace railweave::scheduler {

// How near the members of one group must be: inside one NVLink domain, inside one group of a level, both, or anywhere.
struct Near {
  bool domain = false;
  unsigned level = Hierarchy::kNoLevel;
  friend bool operator==(const Near&, const Near&) = default;
};
// `where` names the field below "/topology/". Errors: impossible, code "jobs.unknownLevel".
Result<Near> near_at(fabric::LevelKind kind, const Hierarchy& hierarchy, std::string_view where);

enum class JobGroup : std::uint8_t { tensor, context, expert, stage, job };
constexpr std::size_t kJobGroups = 5;
constexpr std::size_t index_of(JobGroup group) { return static_cast<std::size_t>(group); }
using Nearness = std::array<Near, kJobGroups>;  // by JobGroup

// Ranks of one tensor, context or expert group; of the whole job for the others.
std::uint64_t group_size(const Parallelism& parallelism, JobGroup group);

struct LevelChoices {
  // From the preferred level to the required one; never empty.
  std::array<std::vector<Near>, kJobGroups> chain;
  // Groups with more than one choice, the most important first: what the job asks for before the defaults (context and
  // expert groups inside an NVLink domain), and inner groups before outer ones.
  std::vector<JobGroup> order;

  [[nodiscard]] Nearness required() const;
};

// Errors of kind impossible, code "jobs.unknownLevel": a level that this fabric does not have.
Result<LevelChoices> level_choices_of(const JobSpec& spec, const Hierarchy& hierarchy);

}  // namespace railweave::scheduler
