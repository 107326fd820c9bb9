// What a port has counted since it was reset: traffic in both directions and the errors that tell a bad cable or a full
// fabric. A value, as read at one moment; two of them make rates (fabric/health).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace railweave::fabric {

enum class ErrorCounter : std::uint8_t {
  symbolErrors,
  linkRecoveries,
  linkDowned,
  receiveErrors,
  transmitDiscards,
  vl15Dropped,
};
inline constexpr std::size_t kErrorCounters = 6;

// Error counters stay at their highest value until they are reset (IBA 16.1.3.5): 8 or 16 bits.
constexpr std::uint32_t highest(ErrorCounter counter) {
  return counter == ErrorCounter::linkRecoveries || counter == ErrorCounter::linkDowned ? 0xffU : 0xffffU;
}

struct PortCounts {
  static constexpr std::uint64_t kNarrowBytes = 0xffffffffULL * 4;  // where narrow data counters stay
  static constexpr std::uint64_t kNarrowPackets = 0xffffffffULL;
  static constexpr std::uint32_t kHighestWait = 0xffffffffU;

  std::uint64_t transmit_bytes = 0, receive_bytes = 0, transmit_packets = 0, receive_packets = 0;
  bool wide = true;                 // traffic in 64 bits, which wrap; else in 32, which stay at their highest
  bool wait_known = false;          // the device counts transmit_wait
  std::uint32_t transmit_wait = 0;  // ticks in which there was something to send and no credit; stays at its highest
  std::array<std::uint32_t, kErrorCounters> errors{};

  [[nodiscard]] std::uint32_t operator[](ErrorCounter counter) const {
    return errors[static_cast<std::size_t>(counter)];
  }
  std::uint32_t& operator[](ErrorCounter counter) { return errors[static_cast<std::size_t>(counter)]; }
  friend bool operator==(const PortCounts&, const PortCounts&) = default;
};

}  // namespace railweave::fabric
