// Texts that are allowed in the files that OpenSM reads: its readers know no quoting, so all others are refused.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::fabric::opensm {

inline std::unexpected<Error> file_refused(std::string what, std::string where) {
  return fail(ErrorKind::invalid, "opensm.file", std::move(what), std::move(where));
}

// 1 to 31 letters, digits, '_', '-' and '.'.
inline bool is_file_name_word(std::string_view text) {
  return !text.empty() && text.size() <= 31 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

// Printable ASCII without what starts a remark or ends a line or a word; blanks inside only.
inline bool is_file_value(std::string_view text, std::size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes && text.front() != ' ' && text.back() != ' ' &&
         std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f && c != '#' && c != '"' && c != '\''; });
}

inline std::string hex_key(unsigned key) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 12; shift >= 0; shift -= 4) text += digits[key >> shift & 15U];
  return text;
}

// PortInfo's code of an MTU in bytes.
inline std::optional<unsigned> mtu_code(unsigned bytes) {
  for (unsigned code = 1; code <= 5; ++code) {
    if (bytes == 128U << code) return code;
  }
  return std::nullopt;
}

inline bool is_partition_key(unsigned key) { return key >= 1 && key <= 0x7fff; }

}  // namespace railweave::fabric::opensm
