// How far the tables for classes and partitions are on a subnet's ports, port by port: what a single job waits for is known
// without what other jobs wait for. Published apart from SubnetStatus, with every state that was looked at.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fabric/base/guid.h"

namespace railweave::control {

struct PendingPort {
  Guid device;  // node GUID of a switch or an adapter
  std::uint8_t port = 0;
  std::string reason;  // of the last attempt; "": not tried yet
};

struct PortProgress {
  // The state that `pending` holds for: what its events up to this one ask of ports is written and read back, except there. 0: none
  // was looked at since the service started or the subnet's topology was replaced.
  std::uint64_t seq = 0;
  std::string problem;                                      // why there is no plan of classes; "": none
  std::shared_ptr<const std::vector<PendingPort>> pending;  // by device and port; null: none

  // Null: it has its tables, or none are wanted.
  [[nodiscard]] const PendingPort* find(Guid device, std::uint8_t port) const {
    if (pending == nullptr) return nullptr;
    const auto key = [](const PendingPort& one) { return std::pair(one.device, one.port); };
    const auto at = std::ranges::lower_bound(*pending, std::pair(device, port), {}, key);
    return at == pending->end() || key(*at) != std::pair(device, port) ? nullptr : &*at;
  }
};

}  // namespace railweave::control
