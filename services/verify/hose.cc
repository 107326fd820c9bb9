#include "services/verify/hose.h"

#include <algorithm>
#include <deque>
#include <map>

namespace railweave::verify {

std::int64_t largest_load(const std::vector<EndPort>& ports,
                          const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  const std::size_t n = ports.size(), from = 2 * n, to = 2 * n + 1;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> residual;
  std::vector<std::vector<std::size_t>> neighbours(2 * n + 2);
  const auto edge = [&](std::size_t a, std::size_t b, std::int64_t limit) {
    residual[{a, b}] = limit;
    residual.try_emplace({b, a}, 0);
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  };
  for (std::size_t i = 0; i < n; ++i) edge(from, i, ports[i].send), edge(n + i, to, ports[i].receive);
  for (const auto& [s, d] : pairs) edge(s, n + d, std::min(ports[s].send, ports[d].receive));
  for (std::int64_t total = 0;;) {
    std::vector<std::size_t> previous(2 * n + 2, SIZE_MAX);
    std::deque<std::size_t> open{from};
    previous[from] = from;
    while (!open.empty() && previous[to] == SIZE_MAX) {
      const std::size_t at = open.front();
      open.pop_front();
      for (const std::size_t next : neighbours[at]) {
        if (previous[next] != SIZE_MAX || residual[{at, next}] <= 0) continue;
        previous[next] = at;
        open.push_back(next);
      }
    }
    if (previous[to] == SIZE_MAX) return total;
    std::int64_t bottleneck = INT64_MAX;
    for (std::size_t at = to; at != from; at = previous[at])
      bottleneck = std::min(bottleneck, residual[{previous[at], at}]);
    for (std::size_t at = to; at != from; at = previous[at]) {
      residual[{previous[at], at}] -= bottleneck;
      residual[{at, previous[at]}] += bottleneck;
    }
    total += bottleneck;
  }
}

}  // namespace railweave::verify
