#include "fabric/formats/text/name_text.h"

#include <algorithm>

#include "fabric/base/text/utf8.h"

namespace railweave::fabric {
namespace {

constexpr bool is_plain(char c) { return c >= 0x20 && c < 0x7f; }

// Length of the printable character at `at`; 0 where a byte must be escaped.
std::size_t printable_length(std::string_view text, std::size_t at) {
  const Utf8Character character = utf8_at(text, at);
  return is_control(character.code_point) ? 0 : character.bytes;
}

}  // namespace

bool is_clean_name(std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) return true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = printable_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string escaped_name(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = printable_length(text, at);
    if (length > 0) {
      result.append(text, at, length);
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[at++]);
    result.append({'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]});
  }
  return result;
}

}  // namespace railweave::fabric
