#include "db/compression.h"

#include <fmt/core.h>
#include <zlib.h>

#include "db/limits.h"
#include "fabric/base/check.h"

namespace railweave::db {

std::string compress(std::string_view raw) {
  std::string packed;
  packed.resize_and_overwrite(compressBound(raw.size()), [&](char* buffer, std::size_t capacity) {
    uLongf length = capacity;
    const int outcome = compress2(reinterpret_cast<Bytef*>(buffer), &length, reinterpret_cast<const Bytef*>(raw.data()),
                                  raw.size(), Z_BEST_SPEED);
    RAILWEAVE_CHECK(outcome == Z_OK, "compressBound is enough, and zlib's 256 KB of state can be allocated");
    return static_cast<std::size_t>(length);
  });
  return packed;
}

Result<std::string> decompress(std::string_view packed, std::uint64_t raw_bytes) {
  std::string raw;
  bool whole = false;
  // One byte more than announced, so that a stream that is too long is detected.
  raw.resize_and_overwrite(raw_bytes + 1, [&](char* buffer, std::size_t capacity) {
    uLongf length = capacity;
    uLong consumed = packed.size();
    const int outcome = uncompress2(reinterpret_cast<Bytef*>(buffer), &length,
                                    reinterpret_cast<const Bytef*>(packed.data()), &consumed);
    whole = outcome == Z_OK && length == raw_bytes && consumed == packed.size();
    return whole ? static_cast<std::size_t>(length) : std::size_t{0};
  });
  if (!whole) {
    return fail(ErrorKind::malformed, "db.damaged",
                fmt::format("a compressed value does not unpack to its {} bytes", raw_bytes));
  }
  return raw;
}

PackedText::PackedText(std::string_view raw) : raw_(raw) {
  if (raw.size() <= kCompressAboveBytes) return;
  compressed_ = compress(raw);
  if (compressed_.size() >= raw.size()) compressed_.clear();
}

}  // namespace railweave::db
