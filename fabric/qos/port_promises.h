// Whether a port's arbitration table can promise what is reserved on its link: admission asks before it reserves, so that
// the plan of the ports is never refused for what was admitted. Remembers its answers; used by one thread.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "fabric/capacity/ledger.h"
#include "fabric/qos/arbitration.h"
#include "fabric/qos/qos_class.h"

namespace railweave::fabric {

class PortPromises {
 public:
  PortPromises(const QosClasses& classes, ArbitrationLimits limits, unsigned routing_lanes)
      : classes_(classes), limits_(limits), routing_lanes_(routing_lanes) {}

  [[nodiscard]] bool hold(const std::vector<std::uint32_t>& min_permille);
  // Links whose port cannot promise the load in addition to what is reserved, with the most that it could; empty: all can.
  // Links that are not InfiniBand have no such tables.
  [[nodiscard]] std::vector<FullLink> full_links(const Topology& topology, const Ledger& ledger,
                                                 const LoadVector& loads, std::uint8_t qos_class,
                                                 std::size_t at_most = 16);

 private:
  const QosClasses classes_;
  ArbitrationLimits limits_;
  unsigned routing_lanes_;
  std::vector<std::vector<std::uint32_t>> held_;  // a few that hold
  std::set<std::vector<std::uint32_t>> refused_;
};

// What is reserved of a link, by class, rounded up.
std::vector<std::uint32_t> reserved_permille(const Ledger& ledger, DirectedLink link);

}  // namespace railweave::fabric
