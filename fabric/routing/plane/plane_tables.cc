#include "fabric/routing/plane/plane_tables.h"

#include <algorithm>

namespace railweave::fabric {

namespace {

constexpr std::size_t kLargestNarrowPort = 254;
constexpr unsigned kLargestTileShift = 10;
constexpr unsigned kLeastTileShift = 6;  // 64 entries: a block of a linear forwarding table

// The largest tile with which rows grow by no more than a sixteenth.
unsigned tile_shift_for(std::size_t destinations) {
  for (unsigned shift = kLargestTileShift; shift > kLeastTileShift; --shift) {
    const std::size_t padded = (destinations + (std::size_t{1} << shift) - 1) >> shift << shift;
    if (padded - destinations <= destinations / 16) return shift;
  }
  return kLeastTileShift;
}

}  // namespace

PlaneTables::PlaneTables(std::size_t switches, std::size_t destinations, std::size_t max_ports)
    : switches_(switches),
      destinations_(destinations),
      tile_shift_(tile_shift_for(destinations)),
      wide_(max_ports > kLargestNarrowPort) {
  tiles_per_row_ = (destinations + tile_mask()) >> tile_shift_;
  tiles_ = SharedTiles(switches_ * tiles_per_row_, entry_bytes() << tile_shift_);
}

namespace {

void widen(const std::uint8_t* __restrict from, std::size_t count, std::uint16_t* __restrict out) {
  constexpr std::size_t kBlock = 64;  // a fixed count, so that compilers turn it into vector code
  const auto one = [](std::uint8_t port) { return static_cast<std::uint16_t>(port == UINT8_MAX ? kNoPort : port); };
  for (; count >= kBlock; count -= kBlock, from += kBlock, out += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) out[i] = one(from[i]);
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = one(from[i]);
}

}  // namespace

void PlaneTables::read(std::size_t s, std::size_t first, std::size_t count, std::uint16_t* out) const {
  while (count > 0) {
    const std::size_t offset = first & tile_mask();
    const std::size_t here = std::min(count, tile_entries() - offset);
    const std::byte* tile = tiles_[s * tiles_per_row_ + (first >> tile_shift_)];
    if (wide_) {
      std::memcpy(out, tile + offset * 2, here * 2);
    } else {
      widen(reinterpret_cast<const std::uint8_t*>(tile) + offset, here, out);
    }
    out += here;
    first += here;
    count -= here;
  }
}

bool PlaneTables::same_entries(std::size_t a, std::size_t b, std::size_t first, std::size_t count) const {
  const std::size_t tile = first >> tile_shift_, offset = (first & tile_mask()) * entry_bytes();
  return std::memcmp(tiles_[a * tiles_per_row_ + tile] + offset, tiles_[b * tiles_per_row_ + tile] + offset,
                     count * entry_bytes()) == 0;
}

bool operator==(const PlaneTables& a, const PlaneTables& b) {
  if (!a.same_shape(b)) return false;
  for (std::size_t s = 0; s < a.switches_; ++s) {
    for (std::size_t t = 0; t < a.tiles_per_row_; ++t) {
      const std::size_t i = s * a.tiles_per_row_ + t;
      if (a.tiles_.shares(b.tiles_, i)) continue;
      const std::size_t entries = std::min(a.tile_entries(), a.destinations_ - (t << a.tile_shift_));
      if (std::memcmp(a.tiles_[i], b.tiles_[i], entries * a.entry_bytes()) != 0) return false;
    }
  }
  return true;
}

void PlaneTables::Editor::set(std::size_t s, std::size_t d, std::uint16_t port) {
  std::byte* tile = tiles_.write(s * tables_.tiles_per_row_ + (d >> tables_.tile_shift_));
  const std::size_t offset = d & tables_.tile_mask();
  if (tables_.wide_) {
    std::memcpy(tile + offset * 2, &port, 2);
  } else {
    tile[offset] = static_cast<std::byte>(port == kNoPort ? UINT8_MAX : port);
  }
}

}  // namespace railweave::fabric
