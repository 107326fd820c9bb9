// A large array cut into tiles of equal size that copies share: copying costs one pointer per tile, writing copies the
// tiles written. Tables and distances are stored in it, so that a reroute publishes a new version without copying the
// old one. A value; published copies are const and may be read by any number of threads, writing needs one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace railweave::fabric {

class SharedTiles {
 public:
  SharedTiles() = default;
  SharedTiles(std::size_t tiles, std::size_t tile_bytes);  // contents are not initialized

  [[nodiscard]] std::size_t size() const { return tiles_.size(); }
  [[nodiscard]] std::size_t tile_bytes() const { return tile_bytes_; }
  [[nodiscard]] const std::byte* operator[](std::size_t tile) const { return tiles_[tile]; }
  // Whether a tile of both is the same memory, and hence equal.
  [[nodiscard]] bool shares(const SharedTiles& other, std::size_t tile) const {
    return tiles_[tile] == other.tiles_[tile];
  }
  // All tiles one after another, to be filled once, before the first copy.
  [[nodiscard]] std::byte* fresh();
  [[nodiscard]] std::size_t memory_bytes() const;

  // Writes tiles: the first write of an edit moves the tile to memory of its own. One editor at a time per array.
  class Editor {
   public:
    explicit Editor(SharedTiles& array);
    ~Editor();
    Editor(const Editor&) = delete;
    Editor& operator=(const Editor&) = delete;
    [[nodiscard]] std::byte* write(std::size_t tile);

   private:
    SharedTiles& array_;
    std::size_t first_own_slab_;
    std::byte* free_ = nullptr;
    std::size_t free_bytes_ = 0;
  };

 private:
  struct Slab {
    explicit Slab(std::size_t n) : bytes(std::make_unique_for_overwrite<std::byte[]>(n)), size(n) {}
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };
  struct SlabUse {
    std::shared_ptr<Slab> memory;
    std::size_t live_tiles = 0;  // of this array
  };
  void drop_unused_slabs();
  void compact();  // copies everything into one slab

  std::size_t tile_bytes_ = 0;
  std::vector<const std::byte*> tiles_;
  std::vector<std::uint16_t> slab_of_;  // which slab each tile is in
  std::vector<SlabUse> slabs_;
};

}  // namespace railweave::fabric
