// What to write to switches to get from one set of tables to another: blocks of 64 LIDs, the unit in which InfiniBand
// switches are programmed, in an order in which packets never loop. Pure.
//
// A switch is updated for a destination only after every switch downstream of it on the new route. A packet then
// follows old entries until it meets an updated switch, and new ones from there on, so it arrives at any moment in
// between (or is lost where the old route is dead, as before). Entries whose new route does not reach the destination
// are updated last. Where destinations that share a block need opposite orders, the block is written more than once.
// Where old and new routes together could deadlock, the entries that change are first set to drop packets, and the new
// ones follow when all earlier packets have left the fabric.
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
  std::uint16_t stage = 0;    // to be written once all blocks of this number and subnet with lower stages are applied
  std::uint16_t changed = 0;  // number of entries that this write changes
  bool urgent = false;        // has changed entries for urgent destinations
  std::array<std::uint16_t, kLidsPerBlock> ports{};  // kNoPort: dropped
};

struct ForwardingDelta {
  std::vector<LftBlock> blocks;     // in the order to write them
  std::size_t changed_entries = 0;  // that differ between the two tables
  std::size_t changed_blocks = 0;   // that differ; a block written more than once counts once
  std::uint16_t stages = 0;
  // Blocks of stage 0 drop packets; before the others are written all packets in flight must have left the fabric.
  bool drops_first = false;
  std::vector<Finding> findings;
};

struct DeltaOptions {
  // By DestinationId; not 0: running jobs send to it, and blocks with changes for it are written first. Empty: none.
  std::vector<std::uint8_t> urgent;
};

// Every block of every switch, for a subnet whose switches have no entries yet: without traffic one stage is enough.
ForwardingDelta first_delta(const Routing& after);

// before, after: of the same scope. view: the present state of the fabric.
ForwardingDelta compute_delta(const FabricView& view, const Routing& before, const Routing& after,
                              const DeltaOptions& options = {});

}  // namespace railweave::fabric
