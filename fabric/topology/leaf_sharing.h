// Which switches the hosts hang on, and which of these switches serve the same hosts: what rails and leaf groups are
// seen from. Internal to fabric/topology.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

class LeafSharing {
 public:
  // A host on more switches than this is not looked at: its pairs would cost more than they tell.
  static constexpr std::size_t kMaxLeavesPerHost = 64;

  // When two switches are partners: they share more than half of the hosts of the one with fewer, and more than this
  // part of the hosts of the one with more, so that a single host with a cable in the wrong place joins nothing.
  enum class Partners { half_of_the_larger, quarter_of_the_larger };

  // Looks at the hosts and adapter ports for which `counts` holds; ports without a cable to a switch never count.
  // O(ports x switches per host).
  LeafSharing(const Topology& topology, Partners rule, const std::function<bool(HostId)>& counts,
              const std::function<bool(PortId)>& port_counts);

  // The switches a host hangs on, each once, in order of id; none where the host does not count.
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

// The switch at the other end of an adapter port's cable; none where there is none.
inline SwitchId switch_at(const Topology& topology, PortId adapter_port) {
  const PortId peer = topology.peer(adapter_port);
  return peer ? topology.switch_of(peer) : SwitchId();
}

// A part of the switch network with no link to the rest.
struct SwitchComponents {
  std::vector<std::uint32_t> of_switch;  // numbered in order of the first switch
  std::uint32_t count = 0;
};
SwitchComponents switch_components(const Topology& topology);

}  // namespace railweave::fabric
