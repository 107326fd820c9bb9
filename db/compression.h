// Bytes as stores keep them: as they are, or zlib-compressed (RFC 1950), at the fastest level: JSON shrinks to a tenth
// even so, and higher levels would delay the journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::db {

std::string compress(std::string_view raw);

// Malformed unless `packed` is exactly one stream of exactly raw_bytes. The caller bounds raw_bytes.
Result<std::string> decompress(std::string_view packed, std::uint64_t raw_bytes);

// Text for one column: borrows `raw` where it is short or does not shrink, else owns the compressed form.
class PackedText {
 public:
  explicit PackedText(std::string_view raw);
  [[nodiscard]] bool compressed() const { return !compressed_.empty(); }
  [[nodiscard]] std::string_view bytes() const { return compressed() ? std::string_view(compressed_) : raw_; }
  [[nodiscard]] std::size_t raw_bytes() const { return raw_.size(); }

 private:
  std::string_view raw_;
  std::string compressed_;
};

}  // namespace railweave::db
