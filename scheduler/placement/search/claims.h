// What a job holds beside the GPUs of its ranks: groups of a level that it has to itself (JobSpec::exclusive), and
// spares in each NVLink domain that it uses (JobSpec::spares_per_domain). While this exists the tree is as if the
// spares of every domain were taken, so that whatever is found in it, behind the filter, leaves them free.
//
// The spares of a domain are those that cost it the fewest whole pieces, so a job is refused only where no choice of
// spares lets it fit. One per question; O(leaves) where the job asks for any of this, else
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/placement_tree.h"
#include "scheduler/placement/search/job_search.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

class Claims {
 public:
  // Borrows everything. level_choices_of() refuses levels that the fabric does not have.
  Claims(JobSearch& search, PlacementTree& tree, const JobSpec& spec, const JobSearch::Filter& filter);
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  [[nodiscard]] bool any() const { return any_; }
  // Where the job's ranks and spares may go: the filter given, without the groups that other jobs use.
  [[nodiscard]] const JobSearch::Filter& filter() const { return filter_; }

  // What it would hold idle with its ranks there, each once and rising.
  [[nodiscard]] std::vector<fabric::GpuId> idle_gpus(const PlacementFabric& fabric,
                                                     std::span<const fabric::GpuId> gpu_of_rank) const;

 private:
  struct Taken {
    LeafIndex leaf;
    std::uint64_t gpus;  // a mask of the host's
  };
  void take_spares();
  void take_spares_of(std::uint32_t domain, const JobShape& shape);
  void take(LeafIndex leaf, std::uint64_t gpus);
  void give_back(LeafIndex leaf, std::uint64_t gpus);
  [[nodiscard]] bool open(LeafIndex leaf) const { return !filter_ || (*filter_)[leaf] != 0; }
  [[nodiscard]] std::uint64_t pieces_around(LeafIndex leaf, const JobShape& shape);

  JobSearch& search_;
  PlacementTree& tree_;
  const Hierarchy& hierarchy_;
  const JobSpec& spec_;
  JobSearch::Filter filter_;
  bool any_ = false;
  std::vector<std::uint32_t> part_of_leaf_;  // of the exclusive level; empty: none
  std::vector<Taken> taken_;
};

// By leaf: 1 where no job uses a GPU of its part, else 0.
LeafFilter unused_parts(const PlacementTree& tree, std::span<const std::uint32_t> part_of_leaf);
// The part of each leaf at a level: groups or NVLink domains. Empty: this fabric has no such level.
std::vector<std::uint32_t> parts_at(const Hierarchy& hierarchy, fabric::LevelKind kind);

}  // namespace railweave::scheduler
