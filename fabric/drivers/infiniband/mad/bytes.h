// Big-endian fields at fixed places of a management datagram. Offsets and widths are those of the InfiniBand
// Architecture Specification 1.7 (IBA), in bytes from the start of the attribute unless a file says otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace railweave::fabric::infiniband {

using AttributeBytes = std::span<const std::uint8_t, 64>;
using AttributeSpace = std::span<std::uint8_t, 64>;

// An attribute as it was last read, kept for those who ask for it. No part of what two readings are compared by: it counts what
// a device has refused.
template <std::size_t Bytes>
struct AttributeAsRead {
  std::array<std::uint8_t, Bytes> bytes{};
  friend bool operator==(const AttributeAsRead&, const AttributeAsRead&) { return true; }
};

inline std::uint64_t read_be(std::span<const std::uint8_t> from, std::size_t offset, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8U | from[offset + i];
  return value;
}
inline void write_be(std::span<std::uint8_t> to, std::size_t offset, std::size_t bytes, std::uint64_t value) {
  for (std::size_t i = bytes; i-- > 0; value >>= 8U) to[offset + i] = static_cast<std::uint8_t>(value);
}
inline std::uint8_t read_8(std::span<const std::uint8_t> from, std::size_t offset) { return from[offset]; }
inline std::uint16_t read_16(std::span<const std::uint8_t> from, std::size_t offset) {
  return static_cast<std::uint16_t>(read_be(from, offset, 2));
}
inline std::uint32_t read_32(std::span<const std::uint8_t> from, std::size_t offset) {
  return static_cast<std::uint32_t>(read_be(from, offset, 4));
}
inline std::uint64_t read_64(std::span<const std::uint8_t> from, std::size_t offset) {
  return read_be(from, offset, 8);
}

// Fields smaller than a byte: `bits` of them above the lowest `shift` ones.
inline std::uint8_t read_bits(std::span<const std::uint8_t> from, std::size_t offset, unsigned shift, unsigned bits) {
  return static_cast<std::uint8_t>(from[offset] >> shift & ((1U << bits) - 1U));
}
inline void write_bits(std::span<std::uint8_t> to, std::size_t offset, unsigned shift, unsigned bits, unsigned value) {
  const unsigned mask = ((1U << bits) - 1U) << shift;
  to[offset] = static_cast<std::uint8_t>((to[offset] & ~mask) | (value << shift & mask));
}

}  // namespace railweave::fabric::infiniband
