// Subnet management packets: along a directed route (IBA 14.2.1.2) or by LID (14.2.1.1).
#pragma once

#include <array>
#include <cstdint>

#include "fabric/base/check.h"
#include "fabric/drivers/infiniband/mad/mad.h"

namespace railweave::fabric::infiniband {

// The ports by which a packet leaves, hop by hop, from the local port on: no hop is the local node itself.
class DirectedRoute {
 public:
  static constexpr std::size_t kMaxHops = 63;

  [[nodiscard]] std::size_t hops() const { return hops_; }
  [[nodiscard]] std::uint8_t hop(std::size_t i) const { return ports_[i]; }
  [[nodiscard]] bool can_extend() const { return hops_ < kMaxHops; }
  [[nodiscard]] DirectedRoute extended(std::uint8_t port) const {
    RAILWEAVE_CHECK(can_extend(), "a directed route has at most 63 hops");
    DirectedRoute longer = *this;
    longer.ports_[longer.hops_++] = port;
    return longer;
  }
  friend bool operator==(const DirectedRoute& a, const DirectedRoute& b) {
    if (a.hops_ != b.hops_) return false;
    for (std::size_t i = 0; i < a.hops_; ++i) {
      if (a.ports_[i] != b.ports_[i]) return false;
    }
    return true;
  }

 private:
  std::uint8_t hops_ = 0;
  std::array<std::uint8_t, kMaxHops> ports_{};
};

// Transaction 0: the transport fills it in.
Mad directed_smp(const DirectedRoute& route, MadMethod method, Attribute attribute, std::uint32_t modifier,
                 std::uint64_t management_key = 0);
// Datagrams of either kind.
std::uint64_t management_key(const Mad& mad);
void set_management_key(Mad& mad, std::uint64_t key);
DirectedRoute route_of(const Mad& mad);  // of a directed one, from the local port on

Mad lid_routed_smp(MadMethod method, Attribute attribute, std::uint32_t modifier, std::uint64_t management_key = 0);

}  // namespace railweave::fabric::infiniband
