// The leaves of each host, and which leaves serve the same hosts. Rails and leaf groups are derived from it.
// Internal to fabric/topology.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

class LeafSharing {
 public:
  // A host on more switches than this is ignored: the number of pairs grows with the square.
  static constexpr std::size_t kMaxLeavesPerHost = 64;

  // When two leaves are partners: they share more than half of the hosts of the one with fewer, and more than this
  // part of the hosts of the one with more, so that one host with a misplaced cable makes no partners.
  enum class Partners { half_of_the_larger, quarter_of_the_larger };

  // Considers hosts for which `counts` holds and adapter ports for which `port_counts` does, if cabled to a switch.
  // O(ports x switches per host).
  LeafSharing(const Topology& topology, Partners rule, const std::function<bool(HostId)>& counts,
              const std::function<bool(PortId)>& port_counts);

  // The switches that a host is cabled to, each once, in order of id; empty where the host does not count.
  [[nodiscard]] std::span<const SwitchId> leaves(HostId host) const {
    return std::span(leaves_).subspan(first_leaf_[host.index()],
                                      first_leaf_[host.index() + 1] - first_leaf_[host.index()]);
  }
  [[nodiscard]] std::span<const HostId> hosts(SwitchId leaf) const {
    return std::span(hosts_).subspan(first_host_[leaf.index()],
                                     first_host_[leaf.index() + 1] - first_host_[leaf.index()]);
  }
  [[nodiscard]] std::span<const SwitchId> partners(SwitchId leaf) const {
    return std::span(partners_).subspan(first_partner_[leaf.index()],
                                        first_partner_[leaf.index() + 1] - first_partner_[leaf.index()]);
  }

 private:
  void find_partners(std::size_t switches, std::size_t part_of_larger);

  std::vector<std::uint32_t> first_leaf_, first_host_, first_partner_;
  std::vector<SwitchId> leaves_, partners_;
  std::vector<HostId> hosts_;
};

// The switch at the other end of an adapter port's cable; none: no cable to a switch.
inline SwitchId switch_at(const Topology& topology, PortId adapter_port) {
  const PortId peer = topology.peer(adapter_port);
  return peer ? topology.switch_of(peer) : SwitchId();
}

// Parts of the switch network that no link joins.
struct SwitchComponents {
  std::vector<std::uint32_t> of_switch;  // numbered in order of the first switch
  std::uint32_t count = 0;
};
SwitchComponents switch_components(const Topology& topology);

}  // namespace railweave::fabric
