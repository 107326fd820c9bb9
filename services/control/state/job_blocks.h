// What is kept for jobs, by the job's id, part of ClusterState. Blocks of consecutive numbers behind shared pointers:
// copying a table costs a pointer per block, changing what is kept for a job copies one block. Ordered by id, so that lists and
// cursors follow the order of submission. Value: anything with a member `id`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "services/control/state/job_id.h"

namespace railweave::control {

template <class Value>
class JobBlocks {
 public:
  using Pointer = std::shared_ptr<const Value>;

  [[nodiscard]] Pointer find(JobId id) const {  // null: there is none
    const auto block = blocks_.find(id.number() / kBlock);
    return block == blocks_.end() ? nullptr : block->second->values[id.number() % kBlock];
  }

  void put(Pointer value) {
    const std::uint64_t number = value->id.number();
    auto& block = blocks_[number / kBlock];
    auto changed = block ? std::make_shared<Block>(*block) : std::make_shared<Block>();
    auto& slot = changed->values[number % kBlock];
    if (slot == nullptr) {
      ++changed->used;
      ++size_;
    }
    slot = std::move(value);
    block = std::move(changed);
  }

  void erase(JobId id) {
    const auto block = blocks_.find(id.number() / kBlock);
    if (block == blocks_.end() || block->second->values[id.number() % kBlock] == nullptr) return;
    --size_;
    if (block->second->used == 1) {
      blocks_.erase(block);
      return;
    }
    auto changed = std::make_shared<Block>(*block->second);
    changed->values[id.number() % kBlock].reset();
    --changed->used;
    block->second = std::move(changed);
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  // Calls visit(const Pointer&) -> bool in ascending order from the first id after `after`, until it returns false.
  template <class Visit>
  void visit_after(JobId after, Visit visit) const {
    for (auto block = blocks_.lower_bound((after.number() + 1) / kBlock); block != blocks_.end(); ++block) {
      for (const auto& value : block->second->values) {
        if (value != nullptr && value->id > after && !visit(value)) return;
      }
    }
  }

  // All of them, ascending: visit(const Value&).
  template <class Visit>
  void visit(Visit visit) const {
    for (const auto& [number, block] : blocks_) {
      for (const auto& value : block->values) {
        if (value != nullptr) visit(*value);
      }
    }
  }

  // Calls visit(const Pointer& was, const Pointer& is) for every id whose value differs from the one in `before`,
  // ascending; null stands for none. O(blocks); only blocks that differ are searched.
  template <class Visit>
  void visit_changed(const JobBlocks& before, Visit visit) const {
    auto was = before.blocks_.begin();
    auto is = blocks_.begin();
    while (was != before.blocks_.end() || is != blocks_.end()) {
      const bool old = was != before.blocks_.end() && (is == blocks_.end() || was->first <= is->first);
      const bool now = is != blocks_.end() && (was == before.blocks_.end() || is->first <= was->first);
      const Block* a = old ? (was++)->second.get() : nullptr;
      const Block* b = now ? (is++)->second.get() : nullptr;
      for (std::size_t i = 0; a != b && i < kBlock; ++i) {
        const Pointer none;
        const Pointer& value_before = a == nullptr ? none : a->values[i];
        const Pointer& value = b == nullptr ? none : b->values[i];
        if (value_before != value) visit(value_before, value);
      }
    }
  }

 private:
  static constexpr std::size_t kBlock = 64;
  struct Block {
    std::array<Pointer, kBlock> values;
    std::size_t used = 0;
  };
  std::map<std::uint64_t, std::shared_ptr<const Block>> blocks_;  // by id / kBlock; none is empty
  std::size_t size_ = 0;
};

}  // namespace railweave::control
