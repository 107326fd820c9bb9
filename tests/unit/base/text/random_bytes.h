// Bytes that make UTF-8 sequences, whole and broken, likely.
#pragma once

#include <random>
#include <string>

namespace railweave {

inline std::string random_bytes(std::mt19937& random, std::size_t max_size) {
  using namespace std::string_literals;
  static const std::string alphabet =
      "ab\"\\\n\x01\x7f/%+ \x80\xbf\xc2\xc3\xe0\xa0\xed\x9f\xef\xf0\x90\xf4\x8f\xf5\xff\0"s;
  std::string bytes(std::uniform_int_distribution<std::size_t>(0, max_size)(random), '\0');
  for (char& c : bytes) c = alphabet[std::uniform_int_distribution<std::size_t>(0, alphabet.size() - 1)(random)];
  return bytes;
}

}  // namespace railweave
