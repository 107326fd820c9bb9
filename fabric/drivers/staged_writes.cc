#include "fabric/drivers/staged_writes.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::fabric {

StagedWrites::StagedWrites(const ForwardingDelta& delta) : delta_(delta) {
  for (std::size_t i = 0; i < delta.blocks.size(); ++i) {
    numbers_[delta.blocks[i].number].stages[delta.blocks[i].stage].push_back(i);
  }
  for (auto& [name, number] : numbers_) start_next(number);
}

void StagedWrites::start_next(Number& number) {
  if (number.under_way != 0 || number.broken || number.stages.empty()) return;
  const auto next = number.stages.begin();
  if (waited_ < delta_.waits.size() && next->first >= delta_.waits[waited_]) return;
  number.stage = next->first;
  number.under_way = next->second.size();
  under_way_ += number.under_way;
  ready_.insert(ready_.end(), next->second.begin(), next->second.end());
  number.stages.erase(next);
}

std::optional<std::uint16_t> StagedWrites::next_stage() const {
  std::optional<std::uint16_t> lowest;
  for (const auto& [name, number] : numbers_) {
    if (number.broken || number.stages.empty()) continue;
    lowest = std::min(lowest.value_or(UINT16_MAX), number.stages.begin()->first);
  }
  return lowest;
}

std::vector<std::size_t> StagedWrites::take_ready() {
  std::vector<std::size_t> ready = std::exchange(ready_, {});
  std::ranges::sort(ready);
  return ready;
}

void StagedWrites::settle(std::size_t block) {
  Number& number = numbers_.at(delta_.blocks[block].number);
  RAILWEAVE_CHECK(number.under_way > 0 && number.stage == delta_.blocks[block].stage, "only what was taken is settled");
  --number.under_way;
  --under_way_;
}

void StagedWrites::applied(std::size_t block) {
  settle(block);
  start_next(numbers_.at(delta_.blocks[block].number));
}

void StagedWrites::failed(std::size_t block) {
  settle(block);
  numbers_.at(delta_.blocks[block].number).broken = true;
}

void StagedWrites::packets_gone() {
  const auto next = next_stage();
  while (next && waited_ < delta_.waits.size() && delta_.waits[waited_] <= *next) ++waited_;
  for (auto& [name, number] : numbers_) start_next(number);
}

std::vector<std::size_t> StagedWrites::held() const {
  std::vector<std::size_t> held;
  for (const auto& [name, number] : numbers_) {
    for (const auto& [stage, blocks] : number.stages) held.insert(held.end(), blocks.begin(), blocks.end());
  }
  return held;
}

}  // namespace railweave::fabric
