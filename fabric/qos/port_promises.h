// Whether a port's arbitration table can promise what is reserved on its link: admission asks before it reserves, so that
// the plan of the ports is never refused for what was admitted. Remembers its answers; used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "fabric/capacity/lane_owners.h"
#include "fabric/capacity/ledger.h"
#include "fabric/qos/arbitration.h"
#include "fabric/qos/qos_class.h"

namespace railweave::fabric {

class PortPromises {
 public:
  PortPromises(const QosClasses& classes, ArbitrationLimits limits, unsigned routing_lanes)
      : classes_(classes), limits_(limits), routing_lanes_(routing_lanes) {}

  // By class, and behind the classes by lane of a job's own.
  [[nodiscard]] bool hold(const std::vector<std::uint32_t>& min_permille);
  // Links whose port cannot promise the load in addition to what is reserved, with the most that it could; empty: all can.
  // Links that are not InfiniBand have no such tables.
  struct Wanted {
    const LoadVector& loads;
    std::uint8_t qos_class = 0;
    std::optional<std::uint8_t> lane;  // of its own
  };
  [[nodiscard]] std::vector<FullLink> full_links(const Topology& topology, const Ledger& ledger, const Wanted& wanted,
                                                 std::size_t at_most = 16);

 private:
  // The link with the most that its port could promise to what wants the load.
  [[nodiscard]] FullLink with_limit(const Ledger& ledger, LinkLoad load, const Wanted& wanted,
                                    std::vector<std::uint32_t> permille, std::span<const OwnedLoad> owned);

  const QosClasses classes_;
  ArbitrationLimits limits_;
  unsigned routing_lanes_;
  std::vector<std::vector<std::uint32_t>> held_;  // a few that hold
  std::set<std::vector<std::uint32_t>> refused_;
};

// What is reserved of a link, by class, rounded up. owned: of the link; where there are any, the classes are without them,
// and what each lane's owner has reserved follows the classes.
std::vector<std::uint32_t> reserved_permille(const Ledger& ledger, DirectedLink link,
                                             std::span<const OwnedLoad> owned = {});

}  // namespace railweave::fabric
