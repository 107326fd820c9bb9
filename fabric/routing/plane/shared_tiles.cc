#include "fabric/routing/plane/shared_tiles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::fabric {

namespace {

constexpr std::size_t kPatchBytes = 256 * 1024;  // an edit allocates this much at a time
constexpr std::size_t kMaxSlabs = 4096;          // beyond this number everything is copied into one slab

}  // namespace

SharedTiles::SharedTiles(std::size_t tiles, std::size_t tile_bytes) : tile_bytes_(tile_bytes), slab_of_(tiles, 0) {
  slabs_.push_back({std::make_shared<Slab>(tiles * tile_bytes), tiles});
  tiles_.reserve(tiles);
  for (std::size_t i = 0; i < tiles; ++i) tiles_.push_back(slabs_[0].memory->bytes.get() + i * tile_bytes);
}

std::byte* SharedTiles::fresh() {
  RAILWEAVE_CHECK(slabs_.size() == 1 && slabs_[0].memory.use_count() == 1, "tiles are filled before they are shared");
  return slabs_[0].memory->bytes.get();
}

std::size_t SharedTiles::memory_bytes() const {
  std::size_t bytes = tiles_.capacity() * sizeof(tiles_[0]) + slab_of_.capacity() * sizeof(slab_of_[0]);
  for (const auto& slab : slabs_) bytes += slab.memory->size;
  return bytes;
}

void SharedTiles::drop_unused_slabs() {
  if (std::ranges::none_of(slabs_, [](const SlabUse& use) { return use.live_tiles == 0; })) return;
  std::vector<std::uint16_t> renumbered(slabs_.size(), 0);
  std::vector<SlabUse> kept;
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    if (slabs_[i].live_tiles == 0) continue;
    renumbered[i] = static_cast<std::uint16_t>(kept.size());
    kept.push_back(std::move(slabs_[i]));
  }
  slabs_ = std::move(kept);
  for (auto& slab : slab_of_) slab = renumbered[slab];
}

void SharedTiles::compact() {
  SharedTiles whole(tiles_.size(), tile_bytes_);
  std::byte* to = whole.fresh();
  for (const std::byte* tile : tiles_) {
    std::memcpy(to, tile, tile_bytes_);
    to += tile_bytes_;
  }
  *this = std::move(whole);
}

SharedTiles::Editor::Editor(SharedTiles& array) : array_(array) {
  if (array_.slabs_.size() >= kMaxSlabs) array_.compact();
  first_own_slab_ = array_.slabs_.size();
}

SharedTiles::Editor::~Editor() {
  array_.drop_unused_slabs();
  std::size_t bytes = 0;
  for (const auto& slab : array_.slabs_) bytes += slab.memory->size;
  if (bytes > 2 * array_.tiles_.size() * array_.tile_bytes_ + 16 * kPatchBytes) array_.compact();
}

std::byte* SharedTiles::Editor::write(std::size_t tile) {
  if (array_.slab_of_[tile] >= first_own_slab_) return const_cast<std::byte*>(array_.tiles_[tile]);
  auto& slabs = array_.slabs_;
  if (free_bytes_ < array_.tile_bytes_) {
    RAILWEAVE_CHECK(slabs.size() < UINT16_MAX, "one edit writes less than 16 GiB");
    free_bytes_ = std::max(kPatchBytes, array_.tile_bytes_);
    slabs.push_back({std::make_shared<Slab>(free_bytes_), 0});
    free_ = slabs.back().memory->bytes.get();
  }
  std::byte* copy = free_;
  free_ += array_.tile_bytes_;
  free_bytes_ -= array_.tile_bytes_;
  std::memcpy(copy, array_.tiles_[tile], array_.tile_bytes_);
  --slabs[array_.slab_of_[tile]].live_tiles;
  ++slabs.back().live_tiles;
  array_.tiles_[tile] = copy;
  array_.slab_of_[tile] = static_cast<std::uint16_t>(slabs.size() - 1);
  return copy;
}

}  // namespace railweave::fabric
