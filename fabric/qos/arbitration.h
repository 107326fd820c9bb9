// VL arbitration tables: the weights by which a port serves its lanes, and the share and delay that they promise. Pure.
//
// All lanes are in the low-priority table, and the high-priority table is empty: with both, the low table is served one
// packet after each HighLimit x 4 KiB, however small that packet is, so that nothing could be promised to it.
//
// A turn ends with the packet that uses up its weight (InfiniBand Architecture Specification 1.7, 7.6.9.2): a lane sends
// at least its weight, and at most one packet more; what it sent too much is not charged to its next turn. So lane i,
// with n(i) entries of together w(i) units of 64 bytes, is promised of a full link
//
//   w(i) / (w(i) + sum over j != i of (w(j) + n(j) x P)),   P: the largest packet of the subnet, in units,
//
// whatever sizes packets have. P is why long turns promise more: entries have the largest weights that the demands allow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/qos/port_tables.h"

namespace railweave::fabric {

inline constexpr unsigned kWeightUnitBytes = 64;
inline constexpr unsigned kMaxWeight = 255;
inline constexpr unsigned kMaxArbitrationEntries = 64;
inline constexpr unsigned kLargestMtuBytes = 4096;

// Of a packet with as much payload as the MTU allows and all headers that it can have: LRH 8, GRH 40, BTH 12, extended
// transport headers 16, immediate data 4, ICRC 4, VCRC 2 bytes.
constexpr unsigned packet_units(unsigned mtu_bytes) {
  return (mtu_bytes + 8 + 40 + 12 + 16 + 4 + 4 + 2 + kWeightUnitBytes - 1) / kWeightUnitBytes;
}

struct LaneDemand {
  std::uint8_t vl = 0;
  std::uint32_t min_permille = 0;        // of the link, to be promised
  std::uint32_t requested_permille = 0;  // of the link; what is left is divided by these
  bool latency = false;                  // served in several short turns, where that costs no promise
};

// What the ports of a subnet can hold, by the port with the fewest.
struct ArbitrationLimits {
  std::size_t entries = 8;
  unsigned mtu_bytes = kLargestMtuBytes;
  friend bool operator==(const ArbitrationLimits&, const ArbitrationLimits&) = default;
};

// A table that promises every lane its minimum and divides the rest by the requests. Errors: impossible
// "qos.tableTooSmall", with the arithmetic.
Result<VlArbitration> assign_weights(std::span<const LaneDemand> lanes, ArbitrationLimits limits);

// Whether there is such a table.
bool can_promise(std::span<const LaneDemand> lanes, ArbitrationLimits limits);

// The share of a full link that the table promises to a lane, in permille, rounded down.
std::uint32_t promised_permille(const VlArbitration& table, std::uint8_t vl, unsigned mtu_bytes = kLargestMtuBytes);
// The longest wait of a lane with packets to send, in bytes sent by other lanes: its widest gap in the table.
std::uint64_t longest_wait_bytes(const VlArbitration& table, std::uint8_t vl, unsigned mtu_bytes = kLargestMtuBytes);

}  // namespace railweave::fabric
