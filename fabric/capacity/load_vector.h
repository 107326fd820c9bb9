// What a guarantee needs of links: a sparse vector over directed links, in whole Mb/s so that sums are exact.
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

using LoadVector = std::vector<LinkLoad>;  // in order of links, each once

inline std::int64_t load_on(const LoadVector& loads, DirectedLink link) {
  const auto at = std::ranges::lower_bound(loads, link, {}, &LinkLoad::link);
  return at == loads.end() || at->link != link ? 0 : at->mbps;
}

// A radix sort where there are many entries: comparisons would take a quarter of a large job's time.
void sort_by_link(LoadVector& loads);

// The larger load of each link: enough for either. O(entries).
LoadVector larger_of(const LoadVector& a, const LoadVector& b);

}  // namespace railweave::fabric
