// What some editors put before a text in UTF-8.
#pragma once

#include <string_view>

namespace railweave {

// The text behind it, or the text where there is none.
inline std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace railweave
