// A number with the word for it: "1 link", "2 links".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace railweave {

inline std::string plural(std::uint64_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

}  // namespace railweave
