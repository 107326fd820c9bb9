// What a guarantee takes of links: a sparse vector over directed links, sorted, in whole Mb/s so that sums are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fabric/flow/directed_link.h"

namespace railweave::fabric {

struct LinkLoad {
  DirectedLink link = 0;
  std::int64_t mbps = 0;  // above 0
  friend bool operator==(const LinkLoad&, const LinkLoad&) = default;
};

using LoadVector = std::vector<LinkLoad>;  // by link, each once

inline std::int64_t load_on(const LoadVector& loads, DirectedLink link) {
  const auto at = std::ranges::lower_bound(loads, link, {}, &LinkLoad::link);
  return at == loads.end() || at->link != link ? 0 : at->mbps;
}

// Link by link the larger of the two: what covers either. O(entries).
LoadVector larger_of(const LoadVector& a, const LoadVector& b);

}  // namespace railweave::fabric
