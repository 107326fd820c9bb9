// Spanning trees of multicast groups over the switches that are alive: which ports of a switch hand on what is sent to a group. A packet
// leaves by all of them but the one that it came by, so that along a tree each receiver gets it once. Pure.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/multicast_book.h"

namespace railweave::fabric::infiniband {

struct SwitchGraph {
  struct Cable {
    std::uint8_t port = 0;
    std::uint32_t peer = 0;
    std::uint8_t peer_port = 0;
    bool is_avoided = false;  // taken only where nothing else leads to a member; the same at both ends
  };
  std::vector<std::vector<Cable>> cables;  // by switch
};

// Where a member is attached; port 0: the switch itself.
struct MulticastPlace {
  std::uint32_t sw = 0;
  std::uint8_t port = 0;
  bool receives = false;
  friend auto operator<=>(const MulticastPlace&, const MulticastPlace&) = default;
};

using PortSet = std::bitset<256>;
using MulticastTree = std::map<std::uint32_t, PortSet>;  // by switch; the others drop

// For many groups on one graph, which outlives it.
class MulticastTrees {
 public:
  explicit MulticastTrees(const SwitchGraph& graph) : graph_(graph), distances_(graph.cables.size()) {}

  // With as few avoided cables to each member as there must be, and then shortest, from the switch that is nearest to the farthest member;
  // of equal ones the seed chooses, so that groups spread. Members that no cables connect get trees of their own.
  MulticastTree grow(std::span<const MulticastPlace> members, std::uint32_t seed);

 private:
  static constexpr std::uint32_t kFar = UINT32_MAX;
  static constexpr std::uint32_t kAvoided = 1U << 16U;  // more than any path without avoided cables
  using Switches = std::vector<std::uint32_t>;

  static std::uint32_t length(const SwitchGraph::Cable& cable) { return cable.is_avoided ? kAvoided : 1U; }
  const std::vector<std::uint32_t>& distances(std::uint32_t from);
  const Switches& middles(const Switches& of);
  void grow_one(std::uint32_t root, const Switches& leaves, std::span<const MulticastPlace> members, std::uint32_t seed,
                MulticastTree& tree);

  const SwitchGraph& graph_;
  std::vector<std::vector<std::uint32_t>> distances_;  // by switch; empty: not asked for yet
  std::map<Switches, Switches> middles_;
};

// What a snapshot says of switches, in an order that does not change with how they were found.
struct AttachedSwitches {
  SwitchGraph graph;
  std::vector<std::uint32_t> nodes;                       // by switch: of the subnet
  std::map<std::uint32_t, std::uint32_t> switch_of_node;  // the other way
};
AttachedSwitches attached_switches(const AdministeredSubnet& subnet);
// Those that can be reached.
std::vector<MulticastPlace> places_of(const AdministeredSubnet& subnet, const AttachedSwitches& switches,
                                      const MulticastMembers& group);

}  // namespace railweave::fabric::infiniband
