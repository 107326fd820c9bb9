// The hose promise: any traffic between a job's ports that no port sends or receives more than its rate of.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "services/verify/walk.h"

namespace railweave::verify {

struct EndPort {
  PortName name;
  std::uint64_t lid;
  std::int64_t send, receive;  // Mb/s
  PortNumber number;           // kNoPort: without a cable
};

// The largest traffic that these pairs of ports (sender, receiver) can exchange at once, Mb/s: a maximum flow by
// shortest augmenting paths (Edmonds-Karp) on the ports that are concerned.
std::int64_t largest_load(const std::vector<EndPort>& ports,
                          const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

}  // namespace railweave::verify
