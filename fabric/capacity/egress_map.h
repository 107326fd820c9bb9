// Where each switch port of a fabric leads while its link is alive, and which switches have equal neighbours. Used by
// hose loads to follow forwarding tables. Constant after construction, so any number of threads may read one.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/flow/directed_link.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/routing_scope.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

class EgressMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct NextHop {
    std::uint32_t sw = kNone;   // kNone: no live link to a switch
    DirectedLink link = kNone;  // kNone: no live link
  };

  // O(switch ports).
  EgressMap(const FabricView& view, const RoutingScope& scope);

  // For any port number of a forwarding table, port 0 and kNoPort included.
  [[nodiscard]] NextHop next_hop(std::uint32_t sw, std::uint16_t port) const {
    if (port == kPortZero || port > first_port_[sw + 1] - first_port_[sw]) return {};
    return next_hops_[first_port_[sw] + port - 1U];
  }
  // Switches with hosts are of one class where they are in one plane and equal ports lead to equal switches.
  [[nodiscard]] std::uint32_t class_of(std::uint32_t sw) const { return class_of_[sw]; }
  [[nodiscard]] std::uint32_t class_count() const { return class_count_; }

 private:
  bool append_ports(const FabricView& view, SwitchId sw);
  [[nodiscard]] std::uint64_t hash_of(std::uint32_t sw, PlaneId plane) const;
  [[nodiscard]] bool equal_neighbours(std::uint32_t a, std::uint32_t b) const;

  std::vector<std::uint32_t> first_port_;  // by switch, and the end
  std::vector<NextHop> next_hops_;         // by port
  std::vector<std::uint32_t> class_of_;    // by switch
  std::uint32_t class_count_ = 0;
};

}  // namespace railweave::fabric
