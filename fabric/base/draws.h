// The one source of numbers that look random and must be the same on every machine and in every run: splitmix64 from a
// seed. For std::ranges::shuffle() and the like, too. Not for secrets.
#pragma once

#include <cstdint>

#include "fabric/base/mix.h"

namespace railweave {

class Draws {
 public:
  using result_type = std::uint64_t;
  explicit constexpr Draws(std::uint64_t seed = 0) : drawn_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT64_MAX; }
  constexpr result_type operator()() { return mix(++drawn_); }
  // From 0 to below - 1.
  constexpr std::uint64_t below(std::uint64_t bound) { return (*this)() % bound; }

 private:
  std::uint64_t drawn_;
};

}  // namespace railweave
