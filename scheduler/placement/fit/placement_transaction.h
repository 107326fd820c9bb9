// Speculation on a PlacementTree: take and release GPUs, evaluate the result, and undo. What is not committed is rolled
// back when the transaction ends. One at a time per tree; borrows both arguments.
//
//   PlacementTransaction speculation(placer.tree(), topology);
//   speculation.release(victim.gpu_of_rank);
//   if (placer.place(spec).outcome != Outcome::placed) ...   // rolled back at the end of the scope
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology/topology.h"
#include "scheduler/placement/fit/placement_tree.h"

namespace railweave::scheduler {

class PlacementTransaction {
 public:
  using Checkpoint = std::size_t;

  PlacementTransaction(PlacementTree& tree, const fabric::Topology& topology);
  ~PlacementTransaction();
  PlacementTransaction(const PlacementTransaction&) = delete;
  PlacementTransaction& operator=(const PlacementTransaction&) = delete;

  // False, and nothing changed, when a GPU is taken already (take), not taken (release), or named twice.
  [[nodiscard]] bool take(std::span<const fabric::GpuId> gpus);
  [[nodiscard]] bool release(std::span<const fabric::GpuId> gpus);
  void set_available(fabric::HostId host, bool available);

  [[nodiscard]] Checkpoint checkpoint() const { return undo_.size(); }
  void rollback(Checkpoint to = 0);  // restores the tree as it was at the checkpoint
  void commit();                     // keeps what was done; the transaction is empty again

 private:
  struct Undo {
    fabric::HostId host;
    HostAllocation before;
  };
  [[nodiscard]] bool change(std::span<const fabric::GpuId> gpus, bool take);

  PlacementTree* tree_;
  const fabric::Topology* topology_;
  std::vector<Undo> undo_;
};

}  // namespace railweave::scheduler
