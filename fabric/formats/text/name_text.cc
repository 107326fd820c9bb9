#include "fabric/formats/text/name_text.h"

#include <algorithm>

namespace railweave::fabric {
namespace {

constexpr bool is_plain(char c) { return c >= 0x20 && c < 0x7f; }

// Length of the printable character at `at`; 0 where a byte must be escaped.
std::size_t printable_length(std::string_view text, std::size_t at) {
  if (is_plain(text[at])) return 1;
  const std::size_t length = utf8_sequence_length(text, at);
  if (length < 2) return 0;
  const bool c1_control =
      length == 2 && static_cast<unsigned char>(text[at]) == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
  return c1_control ? 0 : length;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned lowest = 0x80;  // of the second byte, which rules out overlong forms, surrogates and what is past U+10FFFF
  unsigned highest = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) lowest = 0xa0;
    if (lead == 0xed) highest = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) lowest = 0x90;
    if (lead == 0xf4) highest = 0x8f;
  }
  if (length == 0 || at + length > text.size()) return 0;
  if (byte(at + 1) < lowest || byte(at + 1) > highest) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) return 0;
  }
  return length;
}

bool is_clean_name(std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) return true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = printable_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string_view clipped_name(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0U) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
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
