// A persistent array for snapshots: copying it copies one pointer per chunk; writing one element copies at most one
// chunk. Other copies never see the write. Copying a const vector from several threads is safe; writing needs one
// owner.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/base/check.h"

namespace railweave {

template <class T, std::size_t kChunk = 256>
class ChunkedVector {
 public:
  ChunkedVector() = default;
  explicit ChunkedVector(std::size_t size, const T& value = T{}) : size_(size) {
    const auto chunk = std::make_shared<Chunk>();
    chunk->items.assign(kChunk, value);
    chunks_.assign((size + kChunk - 1) / kChunk, chunk);
  }

  ChunkedVector(const ChunkedVector& other) : chunks_(other.chunks_), size_(other.size_) { other.owner_ = kShared; }
  ChunkedVector(ChunkedVector&& other) noexcept
      : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, 0)), owner_(other.owner_.load()) {
    other.chunks_.clear();
    other.owner_ = kShared;
  }
  ChunkedVector& operator=(ChunkedVector other) noexcept {
    chunks_.swap(other.chunks_);
    size_ = other.size_;
    owner_ = other.owner_.load();
    return *this;
  }
  ~ChunkedVector() = default;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  const T& operator[](std::size_t i) const {
    RAILWEAVE_CHECK(i < size_, "index within the array");
    return chunks_[i / kChunk]->items[i % kChunk];
  }

  // A reference valid until this vector is copied or written elsewhere.
  T& write(std::size_t i) {
    RAILWEAVE_CHECK(i < size_, "index within the array");
    if (owner_ == kShared) owner_ = next_owner();
    auto& chunk = chunks_[i / kChunk];
    if (chunk->owner != owner_) {
      chunk = std::make_shared<Chunk>(*chunk);
      chunk->owner = owner_;
    }
    return chunk->items[i % kChunk];
  }

  // Calls visit(i) for every i whose chunk is not shared with `other`: a superset of the elements that differ.
  template <class Visit>
  void for_each_unshared(const ChunkedVector& other, Visit visit) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      if (c < other.chunks_.size() && chunks_[c] == other.chunks_[c]) continue;
      const std::size_t end = std::min(size_, (c + 1) * kChunk);
      for (std::size_t i = c * kChunk; i < end; ++i) visit(i);
    }
  }

 private:
  // A chunk may be written in place only by the vector that made it, and only until that vector is copied: being copied
  // gives up ownership. Reference counts would not do: reading them does not synchronise with the reader that let go.
  static constexpr std::uint64_t kShared = 0;
  struct Chunk {
    std::vector<T> items;
    std::uint64_t owner = kShared;
  };
  static std::uint64_t next_owner() {
    static std::atomic<std::uint64_t> last{kShared};
    return ++last;
  }

  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
  mutable std::atomic<std::uint64_t> owner_{kShared};
};

}  // namespace railweave
