// ASCII letters in lower case, and texts compared so; everything else as it is.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace railweave {

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower_case(c);
  return result;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, [](char c) { return lower_case(c); }, [](char c) { return lower_case(c); });
}

}  // namespace railweave
