// ASCII letters in lower case; everything else as it is.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace railweave {

inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower_case(c);
  return result;
}

}  // namespace railweave
