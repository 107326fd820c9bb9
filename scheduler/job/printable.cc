#include "scheduler/job/printable.h"

#include <cstdint>
#include <optional>

namespace railweave::scheduler {
namespace {

// Takes one code point off the front; none where the bytes are no UTF-8.
std::optional<std::uint32_t> take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  std::size_t length = 1;
  std::uint32_t value = first;
  std::uint32_t least = 0;
  if (first >= 0x80) {
    if (first >= 0xC2 && first <= 0xDF)
      length = 2, value = first & 0x1FU, least = 0x80;
    else if (first >= 0xE0 && first <= 0xEF)
      length = 3, value = first & 0x0FU, least = 0x800;
    else if (first >= 0xF0 && first <= 0xF4)
      length = 4, value = first & 0x07U, least = 0x10000;
    else
      return std::nullopt;
  }
  if (text.size() < length) return std::nullopt;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return std::nullopt;
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

bool printable(std::uint32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return false;
  if (c == 0x2028 || c == 0x2029 || c == 0xFEFF) return false;
  if ((c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0x061C)
    return false;
  return (c & 0xFFFEU) != 0xFFFE && !(c >= 0xFDD0 && c <= 0xFDEF);
}

}  // namespace

bool is_printable_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto c = take_code_point(text);
    if (!c || !printable(*c)) return false;
  }
  return true;
}

}  // namespace railweave::scheduler
