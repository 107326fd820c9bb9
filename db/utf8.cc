#include "db/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace railweave::db {
namespace {

// Whether one of the eight bytes is NUL or not ASCII.
bool needs_a_closer_look(std::uint64_t eight) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  return ((eight | (eight - kOnes)) & kHighBits) != 0;
}

// Length of the well-formed sequence at text[at], 0 if there is none: RFC 3629, section 4.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  unsigned char second_low = 0x80;
  unsigned char second_high = 0xBF;
  std::size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) second_low = 0xA0;
    if (lead == 0xED) second_high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) second_low = 0x90;
    if (lead == 0xF4) second_high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() - at < length) return 0;
  if (byte(1) < second_low || byte(1) > second_high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

bool is_storable_text(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (text.size() - at >= sizeof(std::uint64_t)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if (needs_a_closer_look(eight)) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace railweave::db
