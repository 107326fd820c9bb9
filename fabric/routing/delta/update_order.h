// The order in which the switches that change within one block of 64 LIDs are updated. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace railweave::fabric {

// An entry that changes: the switch, the destination's place in the block, and the first switch downstream on the new
// route whose entry for it changes too (kNone: there is none).
struct ChangedEntry {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t sw = 0;
  std::uint32_t place = 0;
  std::uint32_t after = kNone;
};

// One write of a block to a switch.
struct BlockWrite {
  std::uint32_t sw = 0;
  std::uint16_t stage = 0;
  std::uint64_t places = 0;  // bits: the entries that this write updates
};

// The writes in order of stages: once all writes of lower stages are applied, those of a stage may be made in any
// order. A switch occurs at most once per stage, and in several stages where its entries need different orders.
std::vector<BlockWrite> order_updates(const std::vector<ChangedEntry>& entries);

}  // namespace railweave::fabric
