#include "fabric/base/text/json_string.h"

#include <algorithm>
#include <charconv>

#include "fabric/base/text/utf8.h"

namespace railweave {

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  static constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  out += '"';
  if (std::ranges::all_of(text, is_plain)) {
    out += text;
    out += '"';
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t bytes = utf8_at(text, at).bytes;
    if (bytes == 0) {
      out += kReplacement;
      ++at;
      continue;
    }
    if (bytes > 1 || is_plain(c)) {
      out.append(text, at, bytes);
    } else if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else {
      out.append({'\\', 'u', '0', '0', kDigits[byte >> 4U], kDigits[byte & 15U]});
    }
    at += bytes;
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

}  // namespace railweave
