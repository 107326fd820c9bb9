// What ports carried and counted in the past: per port a ring of short slots and a ring of long ones, each slot of 8 bytes
// with the average and the peak load, the time without credit and the errors that were counted. Readings are thinned as
// they come: those of one slot are kept as one. Memory is fixed at construction and within `max_bytes`: a fabric with more
// ports has fewer and longer slots, which reach equally far back.
//
// At the defaults a port has 60 slots of a minute and 96 of 15 minutes, 1.3 kB of memory. The 614,400 ports of a fat tree
// of 100,000 GPUs share 512 MiB: 37 slots of 97 s and 59 of 24 minutes each.
//
// No clock: times are given, in microseconds since 1970. Used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/topology/port_counts.h"

namespace railweave::fabric::health {

struct ArchiveOptions {
  std::array<std::int64_t, 2> slot_us = {60'000'000, 900'000'000};  // by ArchiveRing; longer where memory asks for it
  std::array<std::uint32_t, 2> slots = {60, 96};
  std::size_t max_bytes = std::size_t{512} << 20U;
};

enum class ArchiveRing : std::uint8_t { fine, coarse };

// One reading compared with the one before it.
struct ArchiveEntry {
  std::int64_t from_us = 0, to_us = 0;
  float load = 0;     // 0 to 1 of the link's data rate, transmitted
  float waiting = 0;  // 0 to 1 of the time
  std::array<std::uint32_t, kErrorCounters> errors{};
};

// What a slot holds. Loads and waiting are within 0.4 of a hundredth; errors are exact up to 32 and within 3% above.
struct ArchiveSlot {
  bool is_read = false;  // else all is 0
  float load = 0, peak = 0, waiting = 0;
  std::array<std::uint32_t, kErrorCounters> errors{};  // without vl15_dropped, which is 0
};

// slots[i] is of [from_us + i * slot_us, from_us + (i + 1) * slot_us); the last one is not over.
struct ArchiveRange {
  std::int64_t from_us = 0, slot_us = 0;
  std::vector<ArchiveSlot> slots;
};

class CounterArchive {
 public:
  CounterArchive(std::size_t ports, const ArchiveOptions& options);

  void add(std::size_t port, const ArchiveEntry& entry);
  // Takes what another archive holds of a port, where both have the same slots.
  void take_over(std::size_t port, const CounterArchive& from, std::size_t its_port);

  [[nodiscard]] ArchiveRange range(std::size_t port, ArchiveRing which, std::int64_t now_us) const;
  // The slot that holds this time, of the fine ring as far as it reaches. Not read: there is none.
  [[nodiscard]] ArchiveSlot at(std::size_t port, std::int64_t at_us, std::int64_t now_us) const;
  // Errors counted in about the hour before a time, in whole coarse slots, as far as they reach.
  [[nodiscard]] std::array<float, kErrorCounters> errors_per_hour(std::size_t port, std::int64_t at_us,
                                                                  std::int64_t now_us) const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::size_t kKeptErrors = kErrorCounters - 1;
  struct Packed {
    std::uint8_t load = kNotRead, peak = 0, waiting = 0;
    std::array<std::uint8_t, kKeptErrors> errors{};
  };
  static constexpr std::uint8_t kNotRead = 255;
  struct Open {  // the newest slot, while it is
    std::int64_t slot = -1;
    float seconds = 0, load = 0, waiting = 0, peak = 0;  // load and waiting times seconds
    std::array<std::uint32_t, kKeptErrors> errors{};
  };
  struct Ring {
    std::int64_t slot_us = 0;
    std::size_t count = 0;
    std::vector<Packed> slots;  // count per port
    std::vector<Open> open;     // by port
  };
  static void add(Ring& ring, std::size_t port, const ArchiveEntry& entry);
  static ArchiveSlot slot(const Ring& ring, std::size_t port, std::int64_t number, std::int64_t now_us);
  [[nodiscard]] const Ring& of(ArchiveRing ring) const { return rings_[static_cast<std::size_t>(ring)]; }

  std::array<Ring, 2> rings_;
};

}  // namespace railweave::fabric::health
