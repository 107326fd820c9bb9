// Visits the members of a set of small integers that is stored as bits, 64 per word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace railweave::fabric {

// In ascending order.
template <class Visit>
void for_each_member(std::span<const std::uint64_t> set, Visit visit) {
  for (std::size_t w = 0; w < set.size(); ++w) {
    for (std::uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
      visit(static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
}

}  // namespace railweave::fabric
