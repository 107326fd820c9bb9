// Union-find over 0 .. n-1, for parts of a fabric that are connected. A value; serves one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace railweave::fabric {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }

  [[nodiscard]] std::uint32_t find(std::size_t i) {
    auto at = static_cast<std::uint32_t>(i);
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  // The smaller of the two representatives stays, so that results do not depend on the order of calls.
  void unite(std::size_t a, std::size_t b) {
    const std::uint32_t first = find(a);
    const std::uint32_t second = find(b);
    if (first < second) {
      parent_[second] = first;
    } else {
      parent_[first] = second;
    }
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace railweave::fabric
