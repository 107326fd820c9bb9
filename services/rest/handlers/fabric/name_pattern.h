// Names of nodes by pattern: * stands for any text, ? for one character.
#pragma once

#include <string_view>

namespace railweave::api {

inline bool is_pattern(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

// O(pattern x name).
inline bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, in = 0, star = std::string_view::npos, resume = 0;
  while (in < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = in;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in])) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++resume;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace railweave::api
