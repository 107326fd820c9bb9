// The oracle for max-min fairness, by the textbook: all rates rise together; when a link is full or a cap is reached,
// its flows stop. Every step visits every link and flow. Shares only the input with fabric/flow.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "fabric/flow/max_min.h"

namespace railweave::fabric::testing {

inline std::vector<double> naive_water_filling(const FlowProblem& p) {
  const std::size_t flows = p.first.size() - 1;
  std::vector<double> rate(flows, 0);
  std::vector<bool> stopped(flows, false);
  for (std::size_t open = flows; open > 0;) {
    std::vector<double> used(p.capacity.size(), 0), rising(p.capacity.size(), 0);
    for (std::size_t f = 0; f < flows; ++f) {
      const double w = p.weight.empty() ? 1 : p.weight[f], n = p.members.empty() ? 1 : p.members[f];
      for (std::uint32_t i = p.first[f]; i < p.first[f + 1]; ++i) {
        used[p.links[i]] += rate[f] * n;
        if (!stopped[f]) rising[p.links[i]] += w * n;
      }
    }
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < used.size(); ++l) {
      if (rising[l] > 0) step = std::min(step, std::max(0.0, p.capacity[l] - used[l]) / rising[l]);
    }
    for (std::size_t f = 0; f < flows; ++f) {
      const double w = p.weight.empty() ? 1 : p.weight[f];
      if (!stopped[f] && !p.cap.empty()) step = std::min(step, (p.cap[f] - rate[f]) / w);
    }
    if (step == std::numeric_limits<double>::infinity()) {
      for (std::size_t f = 0; f < flows; ++f) {
        if (!stopped[f]) rate[f] = step;
      }
      return rate;
    }
    for (std::size_t f = 0; f < flows; ++f) {
      if (!stopped[f]) rate[f] += step * (p.weight.empty() ? 1 : p.weight[f]);
    }
    for (std::size_t f = 0; f < flows; ++f) {
      if (stopped[f]) continue;
      bool full = !p.cap.empty() && rate[f] >= p.cap[f] * (1 - 1e-13);
      for (std::uint32_t i = p.first[f]; i < p.first[f + 1] && !full; ++i) {
        const std::uint32_t l = p.links[i];
        full = used[l] + rising[l] * step >= p.capacity[l] * (1 - 1e-13);
      }
      if (full) {
        stopped[f] = true;
        --open;
      }
    }
  }
  return rate;
}

}  // namespace railweave::fabric::testing
