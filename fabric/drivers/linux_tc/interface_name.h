// Names that end in commands of ip(8), tc(8) and nft(8): only what none of them reads as anything else.
#pragma once

#include <algorithm>
#include <string_view>

namespace railweave::fabric::linux_tc {

inline bool is_interface_name(std::string_view text) {
  return !text.empty() && text.size() <= 15 && text.front() != '-' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

// "10.77.1.2": four numbers of 0 to 255 without leading zeros.
inline bool is_ipv4_address(std::string_view text) {
  int parts = 0;
  while (true) {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 3; ++digits) {
      value = value * 10 + static_cast<unsigned>(text[digits] - '0');
    }
    if (digits == 0 || value > 255 || (digits > 1 && text[0] == '0')) return false;
    text.remove_prefix(digits);
    if (++parts == 4) return text.empty();
    if (text.empty() || text.front() != '.') return false;
    text.remove_prefix(1);
  }
}

}  // namespace railweave::fabric::linux_tc
