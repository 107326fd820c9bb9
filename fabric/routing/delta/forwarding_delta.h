// What to write to switches to get from one set of tables to another: blocks of 64 LIDs, the unit in which InfiniBand
// switches are programmed, in an order in which packets never loop.
//
// A switch turns to its new way for a destination only after every switch further along that way has turned. A packet
// then follows old entries until it meets a switch that has turned, and new ones from there, so it arrives at any
// moment in between (or is lost where the old way is dead, as it was). Entries that end in nothing turn last. Where
// destinations that share a block want opposite orders, the block is written more than once. Where mixed old and new
// routes could wait for each other in a circle, what changes is first set to drop, and the new entries follow when all
// packets of old are gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/finding.h"

namespace railweave::fabric {

inline constexpr std::size_t kLidsPerBlock = 64;  // InfiniBand Architecture Specification 1.7, 14.2.5.6

struct LftBlock {
  SwitchId sw;
  std::uint16_t number = 0;   // LIDs 64 * number to 64 * number + 63
  std::uint16_t stage = 0;    // to be written after all blocks of this number and subnet with lower stages are applied
  std::uint16_t changed = 0;  // entries that this write changes
  bool urgent = false;        // holds changed entries for urgent destinations
  std::array<std::uint16_t, kLidsPerBlock> ports{};  // kNoPort: dropped
};

struct ForwardingDelta {
  std::vector<LftBlock> blocks;     // in the order to write them
  std::size_t changed_entries = 0;  // that differ between the two tables
  std::size_t changed_blocks = 0;   // likewise; blocks written more than once count once
  std::uint16_t stages = 0;
  // Blocks of stage 0 drop; before the rest is written all packets in flight must have left the fabric.
  bool drops_first = false;
  std::vector<Finding> findings;
};

struct DeltaOptions {
  // By DestinationId, not 0: running jobs talk to it; blocks with changes for it go first. Empty: none.
  std::vector<std::uint8_t> urgent;
};

// Every block of every switch, for a subnet whose switches hold nothing yet: no traffic flows, so one stage does.
ForwardingDelta first_delta(const Routing& after);

// Both of the same scope. view: the fabric as it is now.
ForwardingDelta compute_delta(const FabricView& view, const Routing& before, const Routing& after,
                              const DeltaOptions& options = {});

}  // namespace railweave::fabric
