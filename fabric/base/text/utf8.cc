#include "fabric/base/text/utf8.h"

namespace railweave {

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = utf8_at(text, at).bytes;
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0U) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
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
