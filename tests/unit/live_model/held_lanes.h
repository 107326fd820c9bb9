// Virtual lanes of packets by what switches of a subnet in memory hold, forwarding tables and SL to VL: whether packets can wait
// for each other in a circle. Shares no code with what computes, writes or audits them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::control {

class HeldLanes {
 public:
  // level: of packets from one adapter to another.
  HeldLanes(fabric::infiniband::MemorySubnet& subnet, const std::vector<int>& adapters,
            const std::function<unsigned(int, int)>& level)
      : subnet_(subnet) {
    for (const int from : adapters) {
      for (const int to : adapters) {
        if (from != to) walk(from, to, level(from, to));
      }
    }
  }

  [[nodiscard]] std::size_t used() const { return used_.size(); }
  [[nodiscard]] bool has_circle() const {
    std::map<Channel, std::size_t> waits;
    for (const auto& [from, to] : next_) {
      waits.try_emplace(from, 0);
      for (const auto& one : to) ++waits[one];
    }
    std::vector<Channel> free;
    for (const auto& [one, count] : waits) {
      if (count == 0) free.push_back(one);
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      const auto after = next_.find(free[i]);
      if (after == next_.end()) continue;
      for (const auto& to : after->second) {
        if (--waits[to] == 0) free.push_back(to);
      }
    }
    return free.size() != waits.size();
  }

 private:
  using Channel = std::tuple<int, unsigned, unsigned>;  // switch, port to leave by, lane

  // Both ends are active.
  [[nodiscard]] bool passes(const fabric::infiniband::MemorySubnet::Port& port) const {
    return port.peer >= 0 && port.state == 4 && subnet_.node(port.peer).ports[port.peer_port].state == 4;
  }
  void walk(int from, int to, unsigned level) {
    const unsigned lid = subnet_.node(to).ports[1].lid;
    if (!passes(subnet_.node(from).ports[1])) return;
    int at = subnet_.node(from).ports[1].peer;
    unsigned in = subnet_.node(from).ports[1].peer_port;
    std::vector<Channel> path;
    for (unsigned hops = 0; at >= 0 && subnet_.node(at).is_switch && hops < 64; ++hops) {
      auto& sw = subnet_.node(at);
      const unsigned out = lid == 0 || lid > sw.linear_top ? 255 : sw.lft[lid];
      if (out == 0 || out >= sw.ports.size() || !passes(sw.ports[out])) break;
      const int next = sw.ports[out].peer;
      if (subnet_.node(next).is_switch) {
        const auto& bytes = sw.ports[out].sl_to_vl[in];
        const unsigned lane = level % 2 == 0 ? bytes[level / 2] >> 4U : bytes[level / 2] & 0xfU;
        if (lane == 15) break;  // dropped
        path.emplace_back(at, out, lane);
      }
      in = sw.ports[out].peer_port;
      at = next;
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
      used_.insert(std::get<2>(path[i]));
      next_.try_emplace(path[i]);
      if (i > 0) next_[path[i - 1]].insert(path[i]);
    }
  }

  fabric::infiniband::MemorySubnet& subnet_;
  std::set<unsigned> used_;
  std::map<Channel, std::set<Channel>> next_;
};

}  // namespace railweave::control
