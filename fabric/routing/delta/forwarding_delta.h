// What to write to switches to get from one set of tables to another: blocks of 64 LIDs, the unit in which InfiniBand
// switches are programmed, in an order in which packets never loop. Pure.
//
// A switch is updated for a destination only after every switch downstream of it on the new route. A packet then
// follows old entries until it meets an updated switch, and new ones from there on, so it arrives at any moment in
// between (or is lost where the old route is dead, as before). Entries whose new route does not reach the destination
// are updated last. Where destinations that share a block need opposite orders, the block is written more than once.
// Where old and new routes together could deadlock, destinations change in groups (change_groups.h), each when all packets
// sent before it have left the fabric, those first that some end port cannot reach by the old routes. Entries for
// destinations for which no group is found are set to drop packets first, after all others.
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
  // Ascending: before blocks of these and higher stages are written, all packets that are in flight once the lower ones are
  // applied must have left the fabric.
  std::vector<std::uint16_t> waits;
  // While packets are waited for, writing may end for a link that fails: lanes are the same before and after, so that what is
  // written next can regard packets that are still on their way (DeltaOptions::earlier).
  bool may_stop = false;
  bool drops_first = false;  // some entries drop packets until the last of these waits is over
  std::size_t left_out = 0;  // changed entries that the options leave as they are
  // Of each block, the ports that it is to have before it is written: one that has others is left alone, and with it all that
  // is not written yet. Empty: blocks are written whatever they have.
  std::vector<std::array<std::uint16_t, kLidsPerBlock>> expected;
  std::vector<Finding> findings;
};

struct DeltaOptions {
  // By DestinationId; not 0: running jobs send to it, and blocks with changes for it are written first. Empty: none.
  std::vector<std::uint8_t> urgent;
  bool only_broken = false;  // only destinations that some end port reaches by the new routes and not by the old
  bool may_drop = true;      // false: entries without a proven group are left as they are
  // Tables whose entries packets on their way may have met before those there are now.
  std::vector<const Routing*> earlier{};
  bool lanes_stay = false;  // levels of packets and maps to lanes are those of the old routes meanwhile
  unsigned most_waits = 2;  // of the packet life, in which other repairs wait
};

// Nothing is written before all packets that are in flight have left the fabric.
void wait_first(ForwardingDelta& delta);

// Every block of every switch, for a subnet whose switches have no entries yet: without traffic one stage is enough.
ForwardingDelta first_delta(const Routing& after);

// before, after: of the same scope. view: the present state of the fabric.
ForwardingDelta compute_delta(const FabricView& view, const Routing& before, const Routing& after,
                              const DeltaOptions& options = {});

}  // namespace railweave::fabric
