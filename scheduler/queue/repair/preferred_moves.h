// Where the ranks that a repair moves go, once it is settled which they are: to the GPUs that are worth most to the job, by the
// communication there, longer by what its preferences of nodes leave unmet. Only for jobs that prefer nodes; all others move to the
// nearest GPUs. Blocks that are moved go elsewhere together first, into each group that has room for all, then one by one and by twos,
// as long as that is better, then from disturbed copies. Bounded, and the same for the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "fabric/base/draws.h"
#include "scheduler/placement/placer.h"
#include "scheduler/placement/score/node_preferences.h"
#include "scheduler/queue/repair/damaged_job.h"
#include "scheduler/queue/repair/spares.h"

namespace railweave::scheduler {

class PreferredMoves {
 public:
  using Accept = std::function<bool(std::span<const fabric::GpuId> gpu_of_rank)>;

  // Borrows all of it. accept: whether the job may be there.
  PreferredMoves(Placer& placer, const DamagedJob& job, const Spares& spares, Accept accept);

  // blocks: of each block the ranks that move. True where gpu_of_rank is better now; it is then accepted.
  bool improve(std::span<const RankBlock> blocks, std::vector<fabric::GpuId>& gpu_of_rank);

 private:
  struct Price {
    double us = 0, unmet = 0;
    [[nodiscard]] bool below(const Price& other) const;
  };
  using Rooms = std::vector<std::vector<fabric::GpuId>>;  // free GPUs by NVLink domain
  struct Group {
    unsigned level;
    GroupIndex index;
  };

  [[nodiscard]] Price price(std::span<const fabric::GpuId> gpu_of_rank);
  [[nodiscard]] std::vector<std::uint32_t> domains() const;
  [[nodiscard]] Rooms rooms(std::optional<Group> within) const;
  [[nodiscard]] std::vector<Group> groups() const;
  bool move_all(std::span<const RankBlock> blocks, Group to);
  bool move_one(std::span<const RankBlock> blocks);
  bool exchange(std::span<const RankBlock> blocks);  // of their GPUs between ranks
  bool move_two(std::span<const RankBlock> blocks);
  void descend(std::span<const RankBlock> blocks);
  void disturb(std::span<const RankBlock> blocks);
  [[nodiscard]] bool may_try() {
    if (tries_left_ == 0) return false;
    --tries_left_;
    return true;
  }
  void put(const RankBlock& block, std::vector<fabric::GpuId>& room, bool rails_first);
  bool keep_if_better(const std::vector<fabric::GpuId>& before);

  Placer& placer_;
  const DamagedJob& job_;
  const Spares& spares_;
  Accept accept_;
  NodePreferences preferences_;
  std::vector<std::uint32_t> domains_;  // where blocks may go
  std::vector<fabric::GpuId> gpus_;
  Price price_;  // of the best so far
  std::size_t tries_left_ = 0;
  Draws draws_;
};

}  // namespace railweave::scheduler
