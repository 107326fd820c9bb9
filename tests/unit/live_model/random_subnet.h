// A random subnet in memory that answers management datagrams and changes under the one who manages it: cables are cut
// and joined, datagrams are lost, switches fall silent or forget. Knows the truth.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/mad/notice.h"
#include "fabric/drivers/infiniband/mad/smp.h"
#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::control {

using fabric::infiniband::Mad;
using fabric::infiniband::MemorySubnet;

// The subnet outlives drivers: each gets a port into it.
class SharedPort final : public fabric::infiniband::MadPort {
 public:
  explicit SharedPort(MemorySubnet& subnet) : subnet_(subnet) {}
  Result<void> send(const fabric::infiniband::MadAddress& to, const Mad& mad,
                    fabric::infiniband::Milliseconds answer_within) override {
    return subnet_.send(to, mad, answer_within);
  }
  Result<std::optional<fabric::infiniband::ReceivedMad>> receive(fabric::infiniband::Milliseconds wait) override {
    return subnet_.receive(wait);
  }
  [[nodiscard]] fabric::infiniband::TimePoint now() const override { return subnet_.now(); }

 private:
  MemorySubnet& subnet_;
};

class RandomSubnet {
 public:
  struct Cable {
    int a = 0, b = 0;  // nodes; a is a switch
    unsigned a_port = 0, b_port = 0;
    bool is_up = true;
  };

  enum class Shape : std::uint8_t {
    any,
    tree,  // wide leaves below spines, where routes as repaired are often uneven
    ring,  // of switches, with some chords: mixtures of routes before and after a failure can be circles
  };
  // 2 to 8 switches in a random connected graph, some cables twice, and 2 to 12 adapters; the first manages. In one seed
  // of eight a torus of 4 x 4 switches with an adapter each, whose routes need two lanes; in a quarter of those ports have one. In
  // another of eight leaves below spines, where routes that are repaired are seldom even.
  explicit RandomSubnet(std::mt19937_64& random, Shape wanted = Shape::any) : random_(random) {
    if (wanted == Shape::ring) {
      make_ring();
      return;
    }
    const unsigned shape = wanted == Shape::any ? pick(8) : 1;
    if (shape == 1) {
      const unsigned more = wanted == Shape::tree ? 1 : 0;
      const unsigned leaves = 3 + pick(2 + more), spines = 2 + pick(2 + more), hosts = 2 + more + pick(2);
      make_tree(leaves, spines, hosts);
      return;
    }
    const bool is_torus = shape == 0;
    const unsigned adapters = is_torus ? kSide * kSide : 2 + pick(11);
    const unsigned switches = is_torus ? kSide * kSide : 2 + pick(7);
    add(adapters, switches);
    if (is_torus) {
      has_one_lane = pick(4) == 0;
      for (unsigned i = 0; i < switches; ++i) {
        const unsigned row = i / kSide * kSide;
        join(switches_[i], switches_[row + (i + 1) % kSide]);
        join(switches_[i], switches_[(i + kSide) % switches]);
        join(switches_[i], adapters_[i]);
      }
      for (std::size_t node = 0; has_one_lane && node < adapters + switches; ++node) {
        for (auto& port : subnet.node(static_cast<int>(node)).ports) port.vl_capacity = 1;
      }
      subnet.place_at(adapters_.front(), 1);
      return;
    }
    for (unsigned i = 1; i < switches; ++i) join(switches_[i], switches_[pick(i)]);
    for (const int adapter : adapters_) join(switches_[pick(std::min(switches, 4U))], adapter);
    for (unsigned i = pick(2 * switches); i > 0; --i) {
      const int a = switches_[pick(switches)];
      const int b = switches_[pick(switches)];
      if (a != b) join(a, b);
    }
    subnet.place_at(adapters_.front(), 1);
  }

  [[nodiscard]] unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  [[nodiscard]] bool is_switch(int node) { return subnet.node(node).is_switch; }
  [[nodiscard]] const std::vector<int>& switches() const { return switches_; }
  [[nodiscard]] const std::vector<int>& adapters() const { return adapters_; }

  void set(Cable& cable, bool up) {
    if (cable.is_up == up) return;
    cable.is_up = up;
    up ? subnet.cable(cable.a, cable.a_port, cable.b, cable.b_port) : subnet.cut(cable.a, cable.a_port);
    for (const int end : {cable.a, cable.b}) {
      if (is_switch(end) && pick(3) != 0 && is_reached(end)) report(end);  // traps are lost, too
    }
  }
  // Their second ends go into each other's ports; not the manager's own cable. One that is cut stays cut.
  void exchange(Cable& one, Cable& other) {
    if (&one == &other || one.b == adapters_.front() || other.b == adapters_.front()) return;
    const bool was_up[] = {one.is_up, other.is_up};
    set(one, false);
    set(other, false);
    std::swap(one.b, other.b);
    std::swap(one.b_port, other.b_port);
    set(one, was_up[0]);
    set(other, was_up[1]);
  }
  // The switch was off and on: its tables are empty.
  void forget(int sw) {
    auto& node = subnet.node(sw);
    std::ranges::fill(node.lft, 255);
    node.linear_top = 0;
    for (auto& port : node.ports) {
      port.sl_to_vl.clear();
      port.arbitration.clear();
    }
  }

  // Nodes that directed routes from the manager reach, in truth.
  [[nodiscard]] std::vector<bool> reached() {
    std::vector<bool> seen(adapters_.size() + switches_.size(), false);
    std::vector<int> queue{adapters_.front()};
    seen[static_cast<std::size_t>(queue[0])] = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (i > 0 && !is_switch(queue[i])) continue;
      for (const auto& port : subnet.node(queue[i]).ports) {
        if (port.peer < 0 || seen[static_cast<std::size_t>(port.peer)] || subnet.node(port.peer).silent) continue;
        seen[static_cast<std::size_t>(port.peer)] = true;
        queue.push_back(port.peer);
      }
    }
    return seen;
  }

  MemorySubnet subnet;
  std::vector<Cable> cables;
  bool has_one_lane = false;  // of its ports; else they have eight

 private:
  static constexpr unsigned kPorts = 12, kSide = 4;
  void add(unsigned adapters, unsigned switches) {
    for (unsigned i = 0; i < adapters; ++i) {
      adapters_.push_back(subnet.add_adapter(0x1000U + 16 * i, 1, "node-" + std::to_string(i) + " mlx5_0"));
    }
    for (unsigned i = 0; i < switches; ++i) {
      switches_.push_back(subnet.add_switch(0x2000U + i, kPorts, "switch-" + std::to_string(i)));
    }
    used_.assign(adapters + switches, 0);
  }
  void join(int a, int b) {
    const auto from = static_cast<std::size_t>(a), to = static_cast<std::size_t>(b);
    if (used_[from] == kPorts || (is_switch(b) && used_[to] == kPorts)) return;
    cables.push_back({a, b, ++used_[from], ++used_[to], true});
    subnet.cable(a, cables.back().a_port, b, cables.back().b_port);
  }
  // Leaves of some adapters each, with 1 or 2 cables to each spine.
  void make_tree(unsigned leaves, unsigned spines, unsigned hosts) {
    const unsigned cables_each = 1 + pick(2);
    add(leaves * hosts, leaves + spines);
    for (unsigned leaf = 0; leaf < leaves; ++leaf) {
      for (unsigned host = 0; host < hosts; ++host) join(switches_[leaf], adapters_[leaf * hosts + host]);
      for (unsigned i = 0; i < spines * cables_each; ++i) join(switches_[leaf], switches_[leaves + i % spines]);
    }
    subnet.place_at(adapters_.front(), 1);
  }
  // 5 to 8 switches, an adapter or two at each.
  void make_ring() {
    const unsigned switches = 5 + pick(4), hosts = 1 + pick(2);
    add(switches * hosts, switches);
    for (unsigned i = 0; i < switches; ++i) {
      join(switches_[i], switches_[(i + 1) % switches]);
      for (unsigned host = 0; host < hosts; ++host) join(switches_[i], adapters_[i * hosts + host]);
    }
    for (unsigned chords = pick(4); chords > 0; --chords) {
      const int a = switches_[pick(switches)], b = switches_[pick(switches)];
      if (a != b) join(a, b);
    }
    subnet.place_at(adapters_.front(), 1);
  }
  [[nodiscard]] bool is_reached(int node) { return reached()[static_cast<std::size_t>(node)]; }
  void report(int sw) {
    Mad trap = fabric::infiniband::lid_routed_smp(fabric::infiniband::MadMethod::trap,
                                                  fabric::infiniband::Attribute::notice, 0);
    mad_set_field(trap.data() + 64, 0, IB_NOTICE_IS_GENERIC_F, 1);
    mad_set_field(trap.data() + 64, 0, IB_NOTICE_TRAP_NUMBER_F, fabric::infiniband::kTrapLinkStateChange);
    mad_set_field(trap.data() + 64, 0, IB_NOTICE_DATA_LID_F, subnet.node(sw).ports[0].lid);
    subnet.push_unasked({trap, static_cast<fabric::Lid>(subnet.node(sw).ports[0].lid), false});
  }

  std::mt19937_64& random_;
  std::vector<int> switches_, adapters_;
  std::vector<unsigned> used_;  // ports, by node
};

}  // namespace railweave::control
