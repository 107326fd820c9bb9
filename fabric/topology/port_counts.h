// The counters of a port since their reset: traffic in both directions and the errors that show a bad cable or a full
// fabric. A value, as read at one moment; the difference of two gives rates (fabric/health).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace railweave::fabric {

enum class ErrorCounter : std::uint8_t {
  symbol_errors,
  link_recoveries,
  link_downed,
  receive_errors,
  transmit_discards,
  vl15_dropped,
};
inline constexpr std::size_t kErrorCounters = 6;

// The maximum at which an error counter stops until it is reset: 8 or 16 bits (IBA 16.1.3.5).
constexpr std::uint32_t highest(ErrorCounter counter) {
  return counter == ErrorCounter::link_recoveries || counter == ErrorCounter::link_downed ? 0xffU : 0xffffU;
}

struct PortCounts {
  static constexpr std::uint64_t kNarrowBytes = 0xffffffffULL * 4;  // where 32-bit data counters stop
  static constexpr std::uint64_t kNarrowPackets = 0xffffffffULL;
  static constexpr std::uint32_t kMaxWaitTicks = 0xffffffffU;

  std::uint64_t transmit_bytes = 0, receive_bytes = 0, transmit_packets = 0, receive_packets = 0;
  bool wide = true;                 // traffic counters of 64 bits, which wrap; else of 32, which stop at their maximum
  bool wait_known = false;          // the device counts transmit_wait
  std::uint32_t transmit_wait = 0;  // ticks with packets to send and no credits; stops at its maximum
  std::array<std::uint32_t, kErrorCounters> errors{};

  [[nodiscard]] std::uint32_t operator[](ErrorCounter counter) const {
    return errors[static_cast<std::size_t>(counter)];
  }
  std::uint32_t& operator[](ErrorCounter counter) { return errors[static_cast<std::size_t>(counter)]; }
  friend bool operator==(const PortCounts&, const PortCounts&) = default;
};

}  // namespace railweave::fabric
