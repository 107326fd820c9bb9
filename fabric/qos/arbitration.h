// VL arbitration tables: the weights by which a port serves its lanes, and the share and delay that they promise. Pure.
//
// All lanes are in the low-priority table, and the high-priority table is empty: with both, the low table is served one
// packet after each HighLimit x 4 KiB, however small that packet is, so that nothing could be promised to it. In
// weighted round robin, lane i gets w_i / sum(w) of a full link, less one packet per visit, and waits at
// most sum over j != i of (w_j x 64 bytes + MTU) (InfiniBand Architecture Specification 1.7, 7.6.9.2). Weights are
// multiples of a quantum of 64 units of 64 bytes, so that a 4 KiB packet always fits; latency-bound lanes are in
// several entries, spread evenly, if the table has room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/qos/port_tables.h"

namespace railweave::fabric {

inline constexpr unsigned kWeightUnitBytes = 64;
inline constexpr unsigned kQuantumUnits = 64;  // one packet of a 4 KiB MTU

struct LaneDemand {
  std::uint8_t vl = 0;
  std::uint32_t min_permille = 0;        // of the link, to be guaranteed
  std::uint32_t requested_permille = 0;  // of the link; quanta beyond the guaranteed ones approximate it
  bool latency = false;
};

// Quanta (of kQuantumUnits) per lane: at least 1 each, at most 3 x entries in total, few enough for short waits, and
// every minimum share guaranteed. Errors: impossible "qos.overReserved", "qos.tableTooSmall", with the arithmetic.
Result<std::vector<unsigned>> assign_quanta(std::span<const LaneDemand> lanes, std::size_t entries);

// The table: quanta divided into entries of weight 64, 128 or 192, spread evenly; free entries go to latency lanes
// first.
VlArbitration arbitration_of(std::span<const LaneDemand> lanes, std::span<const unsigned> quanta, std::size_t entries);

// The share of a full link that the table promises to a lane, in permille, rounded down.
std::uint32_t promised_permille(const VlArbitration& table, std::uint8_t vl);
// The longest wait of a lane with packets to send, in bytes sent by other lanes: its widest gap in the table.
std::uint64_t longest_wait_bytes(const VlArbitration& table, std::uint8_t vl, unsigned mtu_bytes = 4096);

}  // namespace railweave::fabric
