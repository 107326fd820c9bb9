// A fixed 64-bit mixing function. Its results must be the same on every machine and in every version, because tables
// depend on them.
#pragma once

#include <cstdint>

namespace railweave {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014; constants of David Stafford's variant 13).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

}  // namespace railweave
