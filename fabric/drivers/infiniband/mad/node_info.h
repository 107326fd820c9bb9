// What a node reports about itself: NodeInfo (IBA 14.2.5.3) and NodeDescription (14.2.5.2).
#pragma once

#include <cstdint>
#include <string>

#include "fabric/base/guid.h"
#include "fabric/drivers/infiniband/mad/bytes.h"

namespace railweave::fabric::infiniband {

enum class NodeType : std::uint8_t { channelAdapter = 1, networkSwitch = 2, router = 3 };

struct NodeInfo {
  NodeType type = NodeType::channelAdapter;
  std::uint8_t ports = 0;
  Guid system_guid, node_guid;
  Guid port_guid;  // of the port by which the packet came in; of a switch always that of port 0
  std::uint16_t partition_capacity = 0;
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
  std::uint32_t vendor_id = 0;
  std::uint8_t local_port = 0;  // by which the packet came in

  // The same node, seen through whichever port.
  [[nodiscard]] bool same_node(const NodeInfo& other) const {
    return type == other.type && ports == other.ports && node_guid == other.node_guid &&
           system_guid == other.system_guid;
  }
};

NodeInfo read_node_info(AttributeBytes data);
void write_node_info(AttributeSpace data, const NodeInfo& info);  // the first 40 bytes
// Up to the first NUL, at most 64 bytes, as on the wire.
std::string read_node_description(AttributeBytes data);

}  // namespace railweave::fabric::infiniband
