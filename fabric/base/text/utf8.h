// The one UTF-8 decoder (RFC 3629: shortest form, no surrogates, nothing above U+10FFFF) and the classes of code points
// that decide which text is stored or shown. Pure functions; those for single characters are inline, as readers of
// large files call them for every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace railweave {

struct Utf8Character {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;  // 1 to 4; 0: no well-formed character begins here
};

// The character at text[at], which exists. The bounds of the second byte are those of The Unicode Standard, table 3-7:
// they rule out overlong forms, surrogates and what is above U+10FFFF.
constexpr Utf8Character utf8_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  std::uint32_t lowest = 0x80;
  std::uint32_t highest = 0xbf;
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
  if (length == 0 || text.size() - at < length || byte(1) < lowest || byte(1) > highest) return {};
  std::uint32_t value = (lead & (0x7fU >> length)) << 6U | (byte(1) & 0x3fU);
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = value << 6U | (byte(i) & 0x3fU);
  }
  return {value, length};
}

bool is_utf8(std::string_view text);

// The code point is none of a surrogate and at most U+10FFFF.
void append_utf8(std::string& out, std::uint32_t code_point);

// At most that many bytes of the text, cut between characters.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes);

// C0, DEL and C1.
constexpr bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f);
}

// Line and paragraph separators, and the marks that reorder bidirectional text, so that it can read as something else:
// embeddings, overrides, isolates, directional marks (UAX #9), the byte order mark.
constexpr bool is_separator_or_bidi_mark(std::uint32_t code_point) {
  return (code_point >= 0x2028 && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069) ||
         code_point == 0x200e || code_point == 0x200f || code_point == 0x061c || code_point == 0xfeff;
}

// Contains a byte below 0x20, or 0x7f.
bool has_ascii_control(std::string_view text);

// Text that may be shown on a terminal or in a log as it came from outside: well-formed, and without control
// characters, separators of lines, bidirectional marks and noncharacters. Empty text is.
bool is_printable_utf8(std::string_view text);

}  // namespace railweave
