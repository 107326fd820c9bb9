#include "fabric/formats/text/json_text.h"

#include <algorithm>
#include <charconv>

#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  out += '"';
  if (std::ranges::all_of(text, is_plain)) {
    out += text;
  } else {
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      const auto byte = static_cast<unsigned char>(c);
      if (is_plain(c)) {
        out += c;
        ++at;
      } else if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
        ++at;
      } else if (byte < 0x80) {
        out.append({'\\', 'u', '0', '0', kDigits[byte >> 4U], kDigits[byte & 15U]});
        ++at;
      } else if (const std::size_t length = utf8_sequence_length(text, at); length > 0) {
        out.append(text, at, length);
        at += length;
      } else {
        out += "\xef\xbf\xbd";
        ++at;
      }
    }
  }
  out += '"';
}

void append_json_number(std::string& out, std::uint64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_json_decimal(std::string& out, float value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace railweave::fabric
