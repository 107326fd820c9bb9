// Weights by which a port serves its lanes in turn, and what they promise.
//
// All lanes stand in one table (the low-priority one; the high-priority one stays empty): with both, the low table gets
// one packet after each HighLimit x 4 KiB, however small that packet is, so that nothing could be promised to it. In
// one weighted round robin lane i gets w_i / sum(w) of a link that is full, less one packet per visit, and waits at
// most sum over j != i of (w_j x 64 bytes + MTU) (InfiniBand Architecture Specification 1.7, 7.6.9.2). Weights are
// multiples of 64 units of 64 bytes, so that a 4 KiB packet is never cut from a turn; lanes that wait for latency stand
// more than once, spread out, where the table has room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/drivers/port_tables.h"

namespace railweave::fabric {

inline constexpr unsigned kWeightUnitBytes = 64;
inline constexpr unsigned kTurnUnits = 64;  // of a 4 KiB MTU

struct LaneDemand {
  std::uint8_t vl = 0;
  std::uint32_t least_permille = 0;  // of the link, to be reached
  std::uint32_t wish_permille = 0;   // by which turns beyond that are dealt
  bool latency = false;
};

// Turns (of kTurnUnits) per lane, each at least 1, in sum at most 3 x entries, as few as reach every least share.
// Errors: impossible "qos.tableTooSmall", with the arithmetic.
Result<std::vector<unsigned>> deal_turns(std::span<const LaneDemand> lanes, std::size_t entries);

// The table: turns cut into entries of 64, 128 or 192 and spread, latency lanes into as many entries as there are left.
VlArbitration arbitration_of(std::span<const LaneDemand> lanes, std::span<const unsigned> turns, std::size_t entries);

// What the table promises a lane of a full link, in permille, rounded down.
std::uint32_t promised_permille(const VlArbitration& table, std::uint8_t vl);
// The longest that a lane that has something to send waits for its turn, in bytes of others: of its widest gap.
std::uint64_t longest_wait_bytes(const VlArbitration& table, std::uint8_t vl, unsigned mtu_bytes = 4096);

}  // namespace railweave::fabric
