// The newest record that was acknowledged, in a file of its own beside the store (`path`.mark): a store that was lost,
// emptied or replaced by an older one is told from a new one by it. Written after each append and not synced: it is never
// ahead of what the disk has, and after a power failure it may be behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "fabric/base/error.h"

namespace railweave::db::sqlite {

std::filesystem::path mark_path(const std::filesystem::path& store);

// Whether a store that ends with last_seq may be the one of this mark; db.recordsLost.
Result<void> check_mark(const std::filesystem::path& store, std::optional<std::uint64_t> mark, std::uint64_t last_seq);

// Not thread-safe: its owner guards it.
class HighWaterMark {
 public:
  // nullopt: there is no mark. 0: there is one without a number.
  static Result<std::optional<std::uint64_t>> read(const std::filesystem::path& store);
  // Makes the file unless it is there.
  static Result<HighWaterMark> open(const std::filesystem::path& store);

  HighWaterMark(HighWaterMark&& other) noexcept;
  HighWaterMark& operator=(HighWaterMark&&) = delete;
  ~HighWaterMark();

  // Failure is of no consequence: the mark is behind then.
  void write(std::uint64_t seq);

 private:
  explicit HighWaterMark(int file) : file_(file) {}
  int file_;
};

}  // namespace railweave::db::sqlite
