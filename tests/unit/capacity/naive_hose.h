// Hose loads by definition: every pair is followed hop by hop, and on every link the largest b-matching of
// the pairs that cross it is found by augmenting paths, port by port. Shares no code with fabric/capacity but its HosePort,
// and none with routing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "tests/unit/capacity/naive_walk.h"

namespace railweave::fabric::testing {

struct NaivePort {
  PortId port;
  std::int64_t send, receive;
};

inline std::vector<HosePort> as_hose(const std::vector<NaivePort>& ports) {
  std::vector<HosePort> hose;
  for (const NaivePort& port : ports) hose.push_back({port.port, port.send, port.receive});
  return hose;
}

using CrossingPairs = std::map<LinkWay, std::vector<std::pair<std::size_t, std::size_t>>>;

inline CrossingPairs crossing_pairs(const FabricView& view, const ForwardingTables& tables,
                                    const std::vector<NaivePort>& ports) {
  CrossingPairs crossing;
  for (std::size_t s = 0; s < ports.size(); ++s) {
    for (std::size_t d = 0; d < ports.size(); ++d) {
      if (s == d) continue;
      const auto path = walk(view, tables, ports[s].port, ports[d].port);
      if (!path) continue;
      for (const LinkWay& way : *path) crossing[way].emplace_back(s, d);
    }
  }
  return crossing;
}

// Writes the rate of each pair in the largest matching to `sent` if it is not null.
inline std::int64_t largest_matching(const std::vector<NaivePort>& ports,
                                     const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                                     std::map<std::pair<std::size_t, std::size_t>, std::int64_t>* sent = nullptr) {
  const std::size_t n = ports.size();
  std::vector<std::int64_t> from_left(n), to_left(n);
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> flow;
  std::vector<std::vector<std::size_t>> to_of(n), from_of(n);
  for (const auto& [s, d] : pairs) {
    to_of[s].push_back(d);
    from_of[d].push_back(s);
  }
  for (std::size_t i = 0; i < n; ++i) {
    from_left[i] = ports[i].send;
    to_left[i] = ports[i].receive;
  }
  std::int64_t total = 0;
  std::vector<std::uint8_t> seen_from, seen_to;
  const std::function<std::int64_t(std::size_t, std::int64_t)> augment = [&](std::size_t s,
                                                                             std::int64_t most) -> std::int64_t {
    seen_from[s] = 1;
    for (const std::size_t d : to_of[s]) {
      if (seen_to[d] != 0) continue;
      seen_to[d] = 1;
      std::int64_t pushed = std::min(most, to_left[d]);
      if (pushed > 0) {
        to_left[d] -= pushed;
      } else {
        for (const std::size_t other : from_of[d]) {
          const auto at = flow.find({other, d});
          if (seen_from[other] != 0 || at == flow.end() || at->second == 0) continue;
          pushed = augment(other, std::min(most, at->second));
          if (pushed > 0) {
            flow[{other, d}] -= pushed;
            break;
          }
        }
      }
      if (pushed > 0) {
        flow[{s, d}] += pushed;
        return pushed;
      }
    }
    return 0;
  };
  for (std::size_t s = 0; s < n; ++s) {
    while (from_left[s] > 0) {
      seen_from.assign(n, 0);
      seen_to.assign(n, 0);
      const std::int64_t pushed = augment(s, from_left[s]);
      if (pushed == 0) break;
      from_left[s] -= pushed;
      total += pushed;
    }
  }
  if (sent != nullptr) *sent = flow;
  return total;
}

}  // namespace railweave::fabric::testing
