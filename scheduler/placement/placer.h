// Decides where a job goes: the nearest level one group of which holds it, whole NVLink domains kept whole. The answer
// depends on the job, the fabric and the allocations alone, never on what was asked before. One per thread (it owns a
// PlacementTree and scratch memory); the PlacementFabric behind it is shared.
//
//   Placer placer(fabric);                    // once per thread and topology
//   placer.sync(snapshot.allocations);        // cheap: visits only chunks that changed since the last sync
//   PlacementResult result = placer.place(spec);   // changes nothing
//
// Method: BestFit of Kueue's topology-aware scheduling (KEP-2724) made sublinear, on nested groups instead of pods; see
// best_fit.h.
#pragma once

#include <memory>
#include <optional>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/allocation.h"
#include "scheduler/placement/placement.h"
#include "scheduler/placement/placement_fabric.h"
#include "scheduler/placement/placement_tree.h"

namespace railweave::scheduler {

class Placer {
 public:
  explicit Placer(PlacementFabricPtr fabric);
  ~Placer();
  Placer(Placer&&) noexcept;
  Placer& operator=(Placer&&) noexcept;

  [[nodiscard]] const PlacementFabric& fabric() const;
  // Brings the tree to a snapshot. What a PlacementTransaction speculated must be committed or rolled back before.
  void sync(const Allocations& allocations);
  // For a spec that check_job_spec() accepts (another one gets outcome never, code "jobs.invalid").
  [[nodiscard]] PlacementResult place(const JobSpec& spec);
  // The same placement without the account of why not: for callers that try many jobs.
  [[nodiscard]] std::optional<Placement> try_place(const JobSpec& spec);
  // Only whether place() would answer placed. Taking GPUs never makes a job fit that did not.
  [[nodiscard]] bool fits(const JobSpec& spec);

  // The state that place() answers on: speculate on it with a PlacementTransaction (placement_transaction.h).
  [[nodiscard]] PlacementTree& tree();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace railweave::scheduler
