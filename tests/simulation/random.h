// Random numbers from a seed, the same on every machine (splitmix64, Steele et al., OOPSLA 2014).
#pragma once

#include <cstdint>
#include <vector>

namespace railweave::simulation {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  unsigned pick(std::size_t n) { return static_cast<unsigned>(next() % n); }
  bool one_in(unsigned n) { return pick(n) == 0; }
  template <class T>
  T& any(std::vector<T>& from) {
    return from[pick(from.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace railweave::simulation
