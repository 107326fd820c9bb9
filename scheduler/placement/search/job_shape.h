// What a job asks for, compiled to nested pieces that must stay together: first what it wishes, group by group from
// most to least (Wishes), then for one choice of wishes the shape that placement counts and cuts (JobShape).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/hierarchy.h"

namespace railweave::scheduler {

// How near the members of one group are to be: inside one NVLink domain, inside one group of a level, both, or
// anywhere.
struct Near {
  bool domain = false;
  unsigned level = Hierarchy::kNoLevel;
  friend bool operator==(const Near&, const Near&) = default;
};

enum class JobGroup : std::uint8_t { tensor, context, expert, stage, job };
constexpr std::size_t kJobGroups = 5;
using Nearness = std::array<Near, kJobGroups>;  // by JobGroup

struct Wishes {
  // From what is wished most to what is required; never empty.
  std::array<std::vector<Near>, kJobGroups> chain;
  // Groups with more than one choice, the most important first: what the job asks for before what is only good for it
  // (context and expert groups inside an NVLink domain), inner groups before outer ones.
  std::vector<JobGroup> order;

  [[nodiscard]] Nearness required() const;
};

// Errors of kind impossible, code "jobs.unknownLevel": a level that this fabric does not have.
Result<Wishes> wishes_of(const JobSpec& spec, const Hierarchy& hierarchy);

struct JobShape {
  FitShape fit;
  std::vector<Rung> rungs;
  std::uint64_t count = 1;  // pieces of the last rung
  unsigned min_level = 0;   // of the whole job: higher where stages must be spread
  unsigned max_level = 0;
  bool expert_inside = false;  // expert groups are nested inside context groups; otherwise the other way round
  std::vector<std::uint64_t> nested_gpus;  // sizes of pieces to keep near each other, rising; the last is the job

  // What the job would hold of the level's pieces: blocks, before rungs.
  [[nodiscard]] std::uint64_t units() const;
};

// Errors of kind impossible, code "jobs.neverFits", where levels, slices, spread and gpus_per_node contradict each
// other on this fabric.
Result<JobShape> shape_of(const JobSpec& spec, const Hierarchy& hierarchy, const Nearness& nearness,
                          std::shared_ptr<const LeafFilter> filter);

// Which larger pieces are kept near each other: the data-parallel ranks of a stage, as Megatron counts ranks, or the
// stages of a replica of the model.
enum class PackingOrder : std::uint8_t { stages, replicas };

// The rank at a position of the packing order, in which the pieces of nested_gpus are consecutive.
std::uint64_t rank_at(const Parallelism& parallelism, bool expert_inside, std::uint64_t position,
                      PackingOrder order = PackingOrder::stages);

}  // namespace railweave::scheduler
