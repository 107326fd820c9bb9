#include "fabric/base/text/utf8.h"

#include <algorithm>

namespace railweave {

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = utf8_at(text, at).bytes;
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto put_tail = [&](unsigned shift) { put(0x80U | (code_point >> shift & 0x3fU)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0U | code_point >> 6U);
    put_tail(0);
  } else if (code_point < 0x10000) {
    put(0xe0U | code_point >> 12U);
    put_tail(6);
    put_tail(0);
  } else {
    put(0xf0U | code_point >> 18U);
    put_tail(12);
    put_tail(6);
    put_tail(0);
  }
}

std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0U) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

bool has_ascii_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_printable_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, bytes] = utf8_at(text, at);
    const bool noncharacter = (c & 0xfffeU) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
    if (bytes == 0 || noncharacter || is_control(c) || is_separator_or_bidi_mark(c)) return false;
    at += bytes;
  }
  return true;
}

}  // namespace railweave
