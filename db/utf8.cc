#include "db/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/base/text/utf8.h"

namespace railweave::db {
namespace {

// Whether one of the eight bytes is NUL or not ASCII.
bool has_nul_or_non_ascii(std::uint64_t eight) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  return ((eight | (eight - kOnes)) & kHighBits) != 0;
}

}  // namespace

bool is_storable_text(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (text.size() - at >= sizeof(std::uint64_t)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if (has_nul_or_non_ascii(eight)) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const std::size_t length = utf8_at(text, at).bytes;
    if (length == 0 || text[at] == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace railweave::db
