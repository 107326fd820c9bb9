// What a sweep found: the nodes of one subnet, their ports and cables, as the devices report them. A value; the index
// of a node stays the same from sweep to sweep while the node is present.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/drivers/infiniband/mad/node_info.h"
#include "fabric/drivers/infiniband/mad/port_info.h"
#include "fabric/drivers/infiniband/mad/smp.h"
#include "fabric/drivers/infiniband/mad/switch_info.h"

namespace railweave::fabric::infiniband {

inline constexpr std::uint32_t kNoNode = UINT32_MAX;

struct SubnetPort {
  PortInfo info;
  Guid guid;          // of adapter ports that were reached
  bool read = false;  // info and guid were read from the port itself
  std::uint32_t peer = kNoNode;
  std::uint8_t peer_port = 0;
  std::uint32_t read_in = 0, linked_in = 0;  // the sweep in which the port was read, its link was seen
};

struct SubnetNode {
  NodeInfo info;
  std::string description;
  SwitchInfo switch_info;         // of switches
  std::vector<SubnetPort> ports;  // [0] is a switch's management port
  DirectedRoute route;            // from the local port
  bool present = false;
  bool unread = false;        // it did not answer every question: asked again by the next sweep, changed or not
  std::uint32_t seen_in = 0;  // the last sweep that reached it

  [[nodiscard]] bool is_switch() const { return info.type == NodeType::networkSwitch; }
  [[nodiscard]] Guid guid() const { return info.node_guid; }
  [[nodiscard]] LinkSpec link(std::size_t port) const {
    return ports[port].info.link(ports[is_switch() ? 0 : port].info.has_extended_speeds());
  }
  // The LID by which its management answers: port 0 of a switch, the first port with one of an adapter.
  [[nodiscard]] Lid lid() const {
    if (is_switch()) return ports.empty() ? Lid{0} : ports[0].info.lid;
    for (const auto& port : ports) {
      if (port.read && port.info.lid != 0) return port.info.lid;
    }
    return 0;
  }
};

// A device that did not answer every request.
struct SilentDevice {
  Guid guid;              // 0: unknown
  Guid behind;            // the switch through which it was asked
  std::uint8_t port = 0;  // and its port
  std::string question;   // "NodeInfo"
};

struct SubnetMap {
  std::vector<SubnetNode> nodes;  // some may be gone: present is false
  std::unordered_map<Guid, std::uint32_t> by_guid;
  std::uint32_t here = kNoNode;  // the node of the local port
  std::uint8_t here_port = 0;
  std::uint32_t sweep = 0;  // the number of the last sweep
  bool blind = false;       // the last sweep reached no device but the local one; all else is as it was before
  std::vector<SilentDevice> silent;

  [[nodiscard]] const SubnetNode* find(Guid guid) const {
    const auto found = by_guid.find(guid);
    return found == by_guid.end() || !nodes[found->second].present ? nullptr : &nodes[found->second];
  }
  [[nodiscard]] std::size_t present_count() const {
    std::size_t count = 0;
    for (const auto& node : nodes) count += node.present ? 1 : 0;
    return count;
  }
};

}  // namespace railweave::fabric::infiniband
