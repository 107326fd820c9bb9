// The tables of switches and ports, block by block: forwarding (IBA 14.2.5.10), multicast forwarding (14.2.5.12), PKeys (14.2.5.7), SL to VL (14.2.5.8)
// and VL arbitration (14.2.5.9). Modifiers are checked against what exists: some simulators and firmware do not.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "fabric/drivers/infiniband/mad/bytes.h"

namespace railweave::fabric::infiniband {

inline constexpr std::size_t kLftBlockEntries = 64;
inline constexpr std::uint16_t kLftBlocks = 768;  // up to the last unicast LID, 0xBFFF
inline constexpr std::uint8_t kLftDropsPacket = 255;
using LftEntries = std::array<std::uint8_t, kLftBlockEntries>;  // the port per LID of the block
LftEntries read_lft_block(AttributeBytes data);                 // modifier: the block's number

inline constexpr std::size_t kMulticastBlockEntries = 32;
inline constexpr std::size_t kMulticastPositionPorts = 16;
inline constexpr std::uint16_t kMulticastBlocks = 512;  // up to the last multicast LID
// By LID of the block, from 0xC000 on: which of the ports of the position hand packets on, port 0 of it in the lowest bit.
using MulticastEntries = std::array<std::uint16_t, kMulticastBlockEntries>;
MulticastEntries read_multicast_block(AttributeBytes data);
void write_multicast_block(AttributeSpace data, const MulticastEntries& entries);
// position: the ports from 16 times it on.
constexpr std::uint32_t multicast_modifier(std::uint16_t block, std::uint8_t position) {
  return static_cast<std::uint32_t>(position) << 28U | block;
}

inline constexpr std::size_t kPKeyBlockEntries = 32;
using PKeyBlock = std::array<std::uint16_t, kPKeyBlockEntries>;  // 0: none; bit 15: full member
PKeyBlock read_pkey_block(AttributeBytes data);
void write_pkey_block(AttributeSpace data, const PKeyBlock& block);
// port: of a switch; 0 for its management port and for adapters.
constexpr std::uint32_t pkey_modifier(std::uint8_t port, std::uint16_t block) {
  return static_cast<std::uint32_t>(port) << 16U | block;
}
constexpr std::size_t pkey_blocks(std::size_t entries) { return (entries + kPKeyBlockEntries - 1) / kPKeyBlockEntries; }

using SlToVl = std::array<std::uint8_t, 16>;  // the VL per SL; 15 drops
SlToVl read_sl_to_vl(AttributeBytes data);
void write_sl_to_vl(AttributeSpace data, const SlToVl& map);
// The ports of a switch by which packets come in and leave; 0 for adapters.
constexpr std::uint32_t sl_to_vl_modifier(std::uint8_t in_port, std::uint8_t out_port) {
  return static_cast<std::uint32_t>(in_port) << 8U | out_port;
}

struct ArbitrationEntry {
  std::uint8_t vl = 0;
  std::uint8_t weight = 0;  // in units of 64 bytes; 0: skipped
  friend bool operator==(ArbitrationEntry, ArbitrationEntry) = default;
};
inline constexpr std::size_t kArbitrationBlockEntries = 32;
using ArbitrationBlock = std::array<ArbitrationEntry, kArbitrationBlockEntries>;
enum class ArbitrationPart : std::uint8_t { low = 1, lowUpper = 2, high = 3, highUpper = 4 };
ArbitrationBlock read_arbitration(AttributeBytes data);
void write_arbitration(AttributeSpace data, const ArbitrationBlock& block);
constexpr std::uint32_t arbitration_modifier(ArbitrationPart part, std::uint8_t port) {
  return static_cast<std::uint32_t>(part) << 16U | port;
}

}  // namespace railweave::fabric::infiniband
