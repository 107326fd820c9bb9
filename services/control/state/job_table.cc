#include "services/control/state/job_table.h"

#include <algorithm>
#include <utility>

namespace railweave::control {

JobPtr JobTable::find(JobId id) const {
  const auto block = blocks_.find(id.number() / kBlock);
  return block == blocks_.end() ? nullptr : block->second->jobs[id.number() % kBlock];
}

void JobTable::put(JobPtr job) {
  const std::uint64_t number = job->id.number();
  auto& block = blocks_[number / kBlock];
  auto changed = block ? std::make_shared<Block>(*block) : std::make_shared<Block>();
  auto& slot = changed->jobs[number % kBlock];
  if (slot == nullptr) {
    ++changed->used;
    ++size_;
  } else if (slot->state == JobState::queued) {
    --queued_;
  }
  if (job->state == JobState::queued) ++queued_;
  next_number_ = std::max(next_number_, number + 1);
  slot = std::move(job);
  block = std::move(changed);
}

void JobTable::erase(JobId id) {
  const auto block = blocks_.find(id.number() / kBlock);
  if (block == blocks_.end() || block->second->jobs[id.number() % kBlock] == nullptr) return;
  --size_;
  if (block->second->jobs[id.number() % kBlock]->state == JobState::queued) --queued_;
  if (block->second->used == 1) {
    blocks_.erase(block);
    return;
  }
  auto changed = std::make_shared<Block>(*block->second);
  changed->jobs[id.number() % kBlock].reset();
  --changed->used;
  block->second = std::move(changed);
}

}  // namespace railweave::control
