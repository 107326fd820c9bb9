// When forwarding tables of switches in memory changed, block by block of 64 LIDs.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::control {

class ChangedBlocks {
 public:
  using TimePoint = fabric::infiniband::TimePoint;

  ChangedBlocks(fabric::infiniband::MemorySubnet& subnet, std::vector<int> switches)
      : subnet_(subnet), switches_(std::move(switches)) {}

  // After each write. How many have changed since the last call.
  std::size_t take() {
    std::size_t changed = 0;
    for (const int sw : switches_) {
      const auto& lft = subnet_.node(sw).lft;
      auto& held = held_[sw];
      if (held.empty()) held.assign(kEntries, 255);
      for (std::size_t first = 0; first < kEntries; first += kBlock) {
        const auto* const now = lft.data() + first;
        if (std::equal(now, now + kBlock, held.data() + first)) continue;
        std::copy(now, now + kBlock, held.data() + first);
        times_.push_back(subnet_.now());
        ++changed;
      }
    }
    while (!times_.empty() && times_.front() + std::chrono::seconds(1) <= subnet_.now()) times_.pop_front();
    return changed;
  }
  // Until the last call.
  [[nodiscard]] std::size_t in_last_second() const { return times_.size(); }
  void forget() { times_.clear(); }

 private:
  static constexpr std::size_t kBlock = 64, kEntries = 2 * kBlock;

  fabric::infiniband::MemorySubnet& subnet_;
  const std::vector<int> switches_;
  std::map<int, std::vector<std::uint8_t>> held_;
  std::deque<TimePoint> times_;
};

}  // namespace railweave::control
