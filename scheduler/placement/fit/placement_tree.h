// The free GPUs of every group of a Hierarchy, kept up to date while GPUs are taken and released. Mutable; one per
// thread. sync() visits only the chunks of a snapshot that differ from the one before.
//
// For each requested shape of block (FitShape, fit_index.h) it keeps counts of how many blocks every group holds,
// ordered for best-fit, built at first use and brought up to date when used again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/topology/ids.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/fit/hierarchy.h"

namespace railweave::scheduler {

class FitIndex;
struct FitShape;

class PlacementTree {
 public:
  explicit PlacementTree(HierarchyPtr hierarchy);  // everything free
  ~PlacementTree();
  PlacementTree(PlacementTree&&) noexcept;
  PlacementTree& operator=(PlacementTree&&) noexcept;

  [[nodiscard]] const Hierarchy& hierarchy() const { return *hierarchy_; }

  // Free places of a group, those of unavailable hosts not counted.
  [[nodiscard]] std::uint32_t free(unsigned level, GroupIndex group) const { return free_[level][group]; }
  [[nodiscard]] std::uint64_t total_free() const { return total_free_; }
  // Of them, those in leaves that are free as a whole.
  [[nodiscard]] std::uint32_t whole(unsigned level, GroupIndex group) const { return whole_[level][group]; }

  // --- for a real fabric

  // Brings the tree to a snapshot of the same fabric. O(hosts in chunks that differ).
  void sync(const Allocations& allocations);
  void set(fabric::HostId host, HostAllocation allocation);
  [[nodiscard]] const HostAllocation& allocation(fabric::HostId host) const { return hosts_[host.index()]; }
  [[nodiscard]] std::uint64_t free_mask(LeafIndex leaf) const;

  // --- for a plain hierarchy

  void set_free(LeafIndex leaf, std::uint32_t free);  // at most the leaf's capacity

  static constexpr std::size_t kMaxIndices = 24;
  // Up to date with the tree as it is now; valid until the tree changes or another shape is requested.
  [[nodiscard]] const FitIndex& fit_index(const FitShape& shape);

 private:
  struct Index;

  void change_leaf(LeafIndex leaf, std::uint32_t free);
  void touch(fabric::HostId host);

  HierarchyPtr hierarchy_;
  std::vector<std::vector<std::uint32_t>> free_;   // by level and group
  std::vector<std::vector<std::uint32_t>> whole_;  // of them, in leaves that are free as a whole
  std::uint64_t total_free_ = 0;

  std::vector<HostAllocation> hosts_;
  Allocations synced_;
  std::vector<fabric::HostId> touched_;   // hosts changed by set() since the last sync, once each
  std::vector<std::uint8_t> is_touched_;  // by host

  // Leaves changed, for indices that lag behind. Bounded: an index that lags too far is rebuilt.
  std::vector<LeafIndex> log_;
  std::uint64_t log_begin_ = 0;  // number of the first entry of log_
  std::vector<Index> indices_;   // the most recently used first, at most kMaxIndices
};

}  // namespace railweave::scheduler
