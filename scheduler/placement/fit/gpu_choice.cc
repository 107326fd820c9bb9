#include "scheduler/placement/fit/gpu_choice.h"

#include <array>
#include <bit>

namespace railweave::scheduler {
namespace {

constexpr unsigned kSizes = 7;  // runs of 1, 2, 4, ... 64

// Bit i of runs[s]: the aligned run of 2^s positions that begins at i is free.
using Runs = std::array<std::uint64_t, kSizes>;

Runs free_runs(std::uint64_t free) {
  static constexpr std::array<std::uint64_t, kSizes> kAligned = {~std::uint64_t{0},
                                                                 0x5555555555555555ULL,
                                                                 0x1111111111111111ULL,
                                                                 0x0101010101010101ULL,
                                                                 0x0001000100010001ULL,
                                                                 0x0000000100000001ULL,
                                                                 1ULL};
  Runs runs{free};
  for (unsigned s = 1; s < kSizes; ++s) runs[s] = runs[s - 1] & (runs[s - 1] >> (1U << (s - 1))) & kAligned[s];
  return runs;
}

// Of those, the ones that are no part of a larger free run.
std::uint64_t maximal(const Runs& runs, unsigned s) {
  if (s + 1 == kSizes) return runs[s];
  return runs[s] & ~(runs[s + 1] | (runs[s + 1] << (1U << s)));
}

constexpr std::uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

std::uint64_t choose(std::uint64_t free, unsigned count) {
  std::uint64_t chosen = 0;
  while (count > 0) {
    const Runs runs = free_runs(free);
    unsigned size = 0;
    std::uint64_t candidates = 0;
    for (unsigned s = static_cast<unsigned>(std::countr_zero(std::bit_ceil(count))); s < kSizes && candidates == 0;
         ++s) {
      candidates = maximal(runs, s);
      size = count;
    }
    for (unsigned s = kSizes; candidates == 0 && s-- > 0;) {
      candidates = maximal(runs, s);
      size = 1U << s;
    }
    const std::uint64_t run = low_bits(size) << static_cast<unsigned>(std::countr_zero(candidates));
    chosen |= run;
    free &= ~run;
    count -= size;
  }
  return chosen;
}

}  // namespace

std::uint64_t choose_gpus(std::uint64_t island, std::uint64_t free, unsigned count) {
  free &= island;
  if (count == static_cast<unsigned>(std::popcount(free))) return free;
  const auto shift = static_cast<unsigned>(std::countr_zero(island));
  const std::uint64_t moved = island >> shift;
  if ((moved & (moved + 1)) == 0) return choose(free >> shift, count) << shift;

  // An island that is no run of indices: by position in it.
  std::array<unsigned, 64> index_at{};
  std::uint64_t free_positions = 0;
  unsigned positions = 0;
  for (std::uint64_t rest = island; rest != 0; rest &= rest - 1, ++positions) {
    index_at[positions] = static_cast<unsigned>(std::countr_zero(rest));
    if ((free >> index_at[positions]) & 1U) free_positions |= std::uint64_t{1} << positions;
  }
  std::uint64_t chosen = 0;
  for (std::uint64_t rest = choose(free_positions, count); rest != 0; rest &= rest - 1) {
    chosen |= std::uint64_t{1} << index_at[static_cast<unsigned>(std::countr_zero(rest))];
  }
  return chosen;
}

}  // namespace railweave::scheduler
