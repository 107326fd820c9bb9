// The fewest ranks of a damaged job that have to move, by branch and bound: a rank without its GPU is given a free one,
// and ranks that must be near it follow it. Exact for small jobs; bounded, so that large ones get the best plan found.
// Borrows the placer, whose tree it reads: GPUs taken there are not free.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/queue/repair/damaged_job.h"

namespace railweave::scheduler {

class MoveSearch {
 public:
  using Accept = std::function<bool(std::span<const fabric::GpuId> gpu_of_rank)>;
  static constexpr std::size_t kMaxMoves = 1024;
  static constexpr std::size_t kMaxTries = 40'000;  // leaves tried for ranks; fewer on large fabrics and for large jobs

  // lost: GPUs that no rank may keep. open: by leaf, where ranks may move; empty: everywhere.
  MoveSearch(Placer& placer, const DamagedJob& job, std::span<const fabric::GpuId> lost,
             std::span<const std::uint8_t> open, Accept accept);

  // The GPU of each rank with the fewest moves, fewer than `below`, that is accepted; none: none was found.
  std::optional<std::vector<fabric::GpuId>> fewest(std::size_t below);

 private:
  enum class At : std::uint8_t { kept, pending, placed };
  static constexpr std::uint32_t kAnywhere = UINT32_MAX;

  struct Rule {  // ranks of one class are in one part
    std::vector<std::uint32_t> part_of_leaf;
    std::vector<std::uint32_t> class_of_rank;
    std::vector<std::vector<std::uint32_t>> members;  // by class
    std::vector<std::uint32_t> anchor;                // by class: the part that moved ranks chose; kAnywhere: none yet
    std::vector<LeafIndex> last_leaf;                 // ... and where the last of them went
  };
  struct Undo {
    enum class What : std::uint8_t { forced, placed, anchored } what;
    std::uint32_t a, b;
  };

  void add_rules();
  void add_group_rules();
  void add_slices();
  template <class ClassOf>
  void add_rule(std::optional<fabric::LevelKind> kind, unsigned level, ClassOf class_of);
  [[nodiscard]] std::vector<std::uint32_t> parts(fabric::LevelKind kind) const;

  void descend();
  void complete();
  bool repair_torn();
  bool repair_stages();
  bool repair_spread();
  bool repair_nodes();
  void try_without_each(std::span<const std::uint32_t> ranks);

  [[nodiscard]] std::uint32_t next_pending() const;
  [[nodiscard]] LeafIndex start_of(std::uint32_t rank) const;
  [[nodiscard]] std::vector<LeafIndex> leaves_for(std::uint32_t rank) const;
  [[nodiscard]] bool fits_anchors(std::uint32_t rank, LeafIndex leaf) const;
  [[nodiscard]] std::optional<unsigned> choose(std::uint32_t rank, LeafIndex leaf) const;
  [[nodiscard]] bool same_classes(std::uint32_t a, std::uint32_t b) const;
  void force(std::uint32_t rank);
  bool place(std::uint32_t rank, LeafIndex leaf);
  void undo(std::size_t to);
  [[nodiscard]] LeafIndex leaf_of(std::uint32_t rank) const { return fabric_.leaf(gpu_[rank]); }
  [[nodiscard]] bool is_lost(fabric::GpuId gpu) const { return std::ranges::binary_search(lost_, gpu); }

  const PlacementFabric& fabric_;
  const Hierarchy& hierarchy_;
  const DamagedJob& job_;
  const JobSpec& spec_;
  std::vector<fabric::GpuId> lost_;  // ascending
  std::span<const std::uint8_t> open_;
  Accept accept_;
  std::vector<Rule> rules_;                              // inner groups first
  std::vector<std::uint32_t> spread_part_, stage_part_;  // by leaf; empty: nothing asked
  std::vector<fabric::GpuId> gpu_;                       // by rank
  std::vector<At> at_;
  std::set<std::uint32_t> pending_;
  std::vector<std::uint64_t> free_;  // by leaf: local GPUs
  std::set<fabric::HostId> to_fill_;
  std::vector<Undo> trail_;
  const std::size_t most_tries_;
  std::size_t moved_ = 0, tries_ = 0, best_ = 0;
  std::optional<std::vector<fabric::GpuId>> best_gpus_;
};

}  // namespace railweave::scheduler
