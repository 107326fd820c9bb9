// Random flow problems for tests, by seed, which own their arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "fabric/flow/max_min.h"

namespace railweave::fabric::testing {

struct OwnedFlows {
  std::vector<double> capacity, weight, cap;
  std::vector<std::uint32_t> first{0}, links, members;

  void add(std::vector<std::uint32_t> path, double w = 1, double most = std::numeric_limits<double>::infinity(),
           std::uint32_t count = 1) {
    links.insert(links.end(), path.begin(), path.end());
    first.push_back(static_cast<std::uint32_t>(links.size()));
    weight.push_back(w);
    cap.push_back(most);
    members.push_back(count);
  }
  [[nodiscard]] FlowProblem problem() const {
    return {.capacity = capacity, .first = first, .links = links, .weight = weight, .cap = cap, .members = members};
  }
  [[nodiscard]] std::size_t size() const { return weight.size(); }
};

inline OwnedFlows random_flows(std::uint64_t seed, std::size_t most_links = 30, std::size_t most_flows = 60) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  OwnedFlows flows;
  flows.capacity.resize(1 + below(most_links));
  for (double& c : flows.capacity) {
    c = below(20) == 0 ? 0 : below(3) == 0 ? 100 : 1 + static_cast<double>(below(1000)) / 7;
  }
  const bool weighted = below(2) == 0, capped = below(2) == 0, merged = below(2) == 0;
  const std::size_t count = 1 + below(most_flows);
  for (std::size_t f = 0; f < count; ++f) {
    std::vector<std::uint32_t> path(1 + below(std::min<std::size_t>(6, flows.capacity.size())));
    for (auto& l : path) l = static_cast<std::uint32_t>(below(flows.capacity.size()));
    std::ranges::sort(path);
    path.erase(std::unique(path.begin(), path.end()), path.end());
    std::ranges::shuffle(path, random);
    flows.add(path, weighted ? 0.1 + static_cast<double>(below(100)) / 10 : 1,
              capped && below(3) == 0 ? static_cast<double>(below(50)) : std::numeric_limits<double>::infinity(),
              merged ? 1 + static_cast<std::uint32_t>(below(5)) : 1);
  }
  return flows;
}

}  // namespace railweave::fabric::testing
