// FNV-1a with 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv), not against attackers: digests of routes, of policies and
// of placements. Feed bytes, or 64-bit words, which are hashed whole: faster, and other values than their bytes give.
#pragma once

#include <cstdint>
#include <string_view>

namespace railweave {

class Fnv1a {
 public:
  constexpr Fnv1a& add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x100000001b3U;
    return *this;
  }
  constexpr Fnv1a& add(std::string_view bytes) {
    for (const char c : bytes) add(std::uint64_t{static_cast<unsigned char>(c)});
    return *this;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace railweave
