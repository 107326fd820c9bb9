// Who may take one more of what all share. A bound that moves with what is left (Choudhury and Hahne, Dynamic queue length
// thresholds, 1998): no one of them has more than is free, so one who is alone has half, who comes next half of the rest, and it takes
// many together to use all up.
#pragma once

#include <cstddef>

namespace railweave {

// own: what whoever asks has already; all: what everybody has together, those included.
constexpr bool within_fair_share(std::size_t own, std::size_t all, std::size_t limit) {
  return all < limit && own < limit - all;
}

}  // namespace railweave
