// Packets by the forwarding tables that switches of a subnet in memory hold: which adapters they bring together, and how many pairs
// cross each link; or by others, as they would. Shares no code with what computes, writes or audits them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::control {

class HeldPaths {
 public:
  // The port by which a switch sends to an adapter, 255: none.
  using PortTo = std::function<unsigned(int sw, int adapter)>;

  HeldPaths(fabric::infiniband::MemorySubnet& subnet, const std::vector<int>& adapters)
      : HeldPaths(subnet, adapters, [&subnet](int at, int to) -> unsigned {
          const auto& sw = subnet.node(at);
          const unsigned lid = subnet.node(to).ports[1].lid;
          return lid == 0 || lid > sw.linear_top ? 255 : sw.lft[lid];
        }) {}
  HeldPaths(fabric::infiniband::MemorySubnet& subnet, const std::vector<int>& adapters, const PortTo& port_to)
      : subnet_(subnet) {
    for (const int from : adapters) {
      for (const int to : adapters) {
        if (from != to) walk(from, to, port_to);
      }
    }
  }

  [[nodiscard]] bool arrives(int from, int to) const { return arriving_.contains({from, to}); }
  [[nodiscard]] const std::set<std::pair<int, int>>& arriving() const { return arriving_; }
  // Pairs on the fullest link between switches, in one direction.
  [[nodiscard]] std::uint64_t fullest() const {
    std::uint64_t most = 0;
    for (const auto& [link, pairs] : loads_) most = std::max(most, pairs);
    return most;
  }

 private:
  using Port = fabric::infiniband::MemorySubnet::Port;
  [[nodiscard]] bool passes(const Port& port) const {
    return port.peer >= 0 && port.state == 4 && subnet_.node(port.peer).ports[port.peer_port].state == 4;
  }
  void walk(int from, int to, const PortTo& port_to) {
    std::vector<std::pair<int, unsigned>> links;
    const Port* port = &subnet_.node(from).ports[1];
    for (unsigned hops = 0; passes(*port) && hops < 64; ++hops) {
      const int at = port->peer;
      auto& sw = subnet_.node(at);
      if (!sw.is_switch) {
        if (at != to) return;
        arriving_.emplace(from, to);
        if (!links.empty()) links.pop_back();  // to the adapter itself
        for (const auto& link : links) ++loads_[link];
        return;
      }
      const unsigned out = port_to(at, to);
      if (out == 0 || out >= sw.ports.size()) return;
      links.emplace_back(at, out);
      port = &sw.ports[out];
    }
  }

  fabric::infiniband::MemorySubnet& subnet_;
  std::set<std::pair<int, int>> arriving_;
  std::map<std::pair<int, unsigned>, std::uint64_t> loads_;  // by switch and port
};

}  // namespace railweave::control
