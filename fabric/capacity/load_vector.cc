#include "fabric/capacity/load_vector.h"

namespace railweave::fabric {

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
