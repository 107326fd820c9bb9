#include "services/control/state/step_times.h"

#include <algorithm>
#include <utility>

namespace railweave::control {

std::int64_t StepTimes::next_us() const {
  if (reports == 0) return 0;
  return reported_us + std::max(kLeastBetweenUs, (reported_us - first_us) / kShareBetween);
}

StepTimesPtr StepTable::find(JobId id) const {
  const auto block = blocks_.find(id.number() / kBlock);
  return block == blocks_.end() ? nullptr : (*block->second)[id.number() % kBlock];
}

void StepTable::put(StepTimesPtr times) {
  const std::uint64_t number = times->id.number();
  auto& block = blocks_[number / kBlock];
  auto changed = block ? std::make_shared<Block>(*block) : std::make_shared<Block>();
  (*changed)[number % kBlock] = std::move(times);
  block = std::move(changed);
}

void StepTable::erase(JobId id) {
  const auto block = blocks_.find(id.number() / kBlock);
  if (block == blocks_.end() || (*block->second)[id.number() % kBlock] == nullptr) return;
  auto changed = std::make_shared<Block>(*block->second);
  (*changed)[id.number() % kBlock].reset();
  if (std::ranges::all_of(*changed, [](const StepTimesPtr& times) { return times == nullptr; })) {
    blocks_.erase(block);
  } else {
    block->second = std::move(changed);
  }
}

}  // namespace railweave::control
