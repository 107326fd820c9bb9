#include "fabric/capacity/load_vector.h"

#include <array>
#include <utility>

namespace railweave::fabric {

void sort_by_link(LoadVector& loads) {
  constexpr std::size_t kMinRadixEntries = 256;
  if (loads.size() < kMinRadixEntries) {
    std::ranges::sort(loads, {}, &LinkLoad::link);
    return;
  }
  constexpr unsigned kDigitBits = 10;
  DirectedLink last = 0;
  for (const LinkLoad& load : loads) last = std::max(last, load.link);
  LoadVector other(loads.size());
  for (unsigned shift = 0; shift < 32 && (last >> shift) != 0; shift += kDigitBits) {
    std::array<std::uint32_t, (1U << kDigitBits) + 1> begin{};
    const auto digit = [shift](const LinkLoad& load) { return load.link >> shift & ((1U << kDigitBits) - 1); };
    for (const LinkLoad& load : loads) ++begin[digit(load) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    for (const LinkLoad& load : loads) other[begin[digit(load)]++] = load;
    std::swap(loads, other);
  }
}

LoadVector larger_of(const LoadVector& a, const LoadVector& b) {
  LoadVector both;
  both.reserve(std::max(a.size(), b.size()));
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->link < j->link)) {
      both.push_back(*i++);
    } else if (i == a.end() || j->link < i->link) {
      both.push_back(*j++);
    } else {
      both.push_back({i->link, std::max(i->mbps, j->mbps)});
      ++i;
      ++j;
    }
  }
  return both;
}

}  // namespace railweave::fabric
