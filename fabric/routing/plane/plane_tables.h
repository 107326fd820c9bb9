// The forwarding tables of one plane: per switch and destination the egress port. A value that is cheap to copy
// (shared_tiles.h). Published copies are const and may be read by any number of threads; writing needs one owner.
//
// Shape: switches x destinations, row-major, because tables are programmed by switch. Entries are bytes where no switch
// of the plane has more than 254 ports, else 16 bits: 65,536 destinations on 5,120 switches take 320 MiB. Rows are cut
// into tiles of 64 to 1,024 entries, each a whole number of blocks of an InfiniBand linear forwarding table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/routing/plane/shared_tiles.h"

namespace railweave::fabric {

// Values of an entry besides a port number from 1 to 1,023.
inline constexpr std::uint16_t kNoPort = UINT16_MAX;  // packets are dropped
inline constexpr std::uint16_t kPortZero = 0;         // the switch itself

class PlaneTables {
 public:
  PlaneTables() = default;
  PlaneTables(std::size_t switches, std::size_t destinations, std::size_t max_ports);  // entries are not initialized

  [[nodiscard]] std::size_t switches() const { return switches_; }
  [[nodiscard]] std::size_t destinations() const { return destinations_; }
  [[nodiscard]] bool wide() const { return wide_; }

  [[nodiscard]] std::uint16_t at(std::size_t s, std::size_t d) const {
    return entry(tiles_[s * tiles_per_row_ + (d >> tile_shift_)], d & tile_mask());
  }
  // Entries [first, first + count) of switch s.
  void read(std::size_t s, std::size_t first, std::size_t count, std::uint16_t* out) const;

  // Whether switches a and b use the same ports for destinations [first, first + count), which lie in one tile.
  [[nodiscard]] bool same_entries(std::size_t a, std::size_t b, std::size_t first, std::size_t count) const;

  // Tiles, for comparing tables (table_differences.h): tiles that share memory are equal.
  [[nodiscard]] std::size_t tiles_per_row() const { return tiles_per_row_; }
  [[nodiscard]] std::size_t tile_entries() const { return std::size_t{1} << tile_shift_; }
  [[nodiscard]] bool shares_tile(const PlaneTables& other, std::size_t s, std::size_t tile) const {
    return tiles_.shares(other.tiles_, s * tiles_per_row_ + tile);
  }
  [[nodiscard]] bool same_shape(const PlaneTables& other) const {
    return switches_ == other.switches_ && destinations_ == other.destinations_ && wide_ == other.wide_;
  }
  friend bool operator==(const PlaneTables& a, const PlaneTables& b);

  // Row s as Entry (std::uint8_t or, where wide(), std::uint16_t), to be filled once, before the tables are copied. An
  // entry that drops packets is entry_none<Entry>().
  template <class Entry>
  [[nodiscard]] Entry* fresh_row(std::size_t s) {
    return reinterpret_cast<Entry*>(tiles_.fresh()) + s * (tiles_per_row_ << tile_shift_);
  }
  template <class Entry>
  static constexpr Entry entry_none() {
    return static_cast<Entry>(~Entry{0});
  }

  [[nodiscard]] std::size_t memory_bytes() const { return tiles_.memory_bytes(); }

  // Changes single entries of these tables; other copies keep theirs.
  class Editor {
   public:
    explicit Editor(PlaneTables& tables) : tables_(tables), tiles_(tables.tiles_) {}
    void set(std::size_t s, std::size_t d, std::uint16_t port);

   private:
    PlaneTables& tables_;
    SharedTiles::Editor tiles_;
  };

 private:
  [[nodiscard]] std::size_t tile_mask() const { return (std::size_t{1} << tile_shift_) - 1; }
  [[nodiscard]] std::size_t entry_bytes() const { return wide_ ? 2 : 1; }
  [[nodiscard]] std::uint16_t entry(const std::byte* tile, std::size_t offset) const {
    if (wide_) {
      std::uint16_t value = 0;
      std::memcpy(&value, tile + offset * 2, 2);
      return value;
    }
    const auto value = std::to_integer<std::uint8_t>(tile[offset]);
    return value == UINT8_MAX ? kNoPort : value;
  }

  std::size_t switches_ = 0, destinations_ = 0, tiles_per_row_ = 0;
  unsigned tile_shift_ = 6;
  bool wide_ = false;
  SharedTiles tiles_;  // by switch, then along the row
};

}  // namespace railweave::fabric
