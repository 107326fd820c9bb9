// Numbers in tables, formatted as by printf.
#pragma once

#include <cstdio>
#include <string>

namespace railweave::cli {

inline std::string formatted(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace railweave::cli
