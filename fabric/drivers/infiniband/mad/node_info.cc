#include "fabric/drivers/infiniband/mad/node_info.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

NodeInfo read_node_info(AttributeBytes data) {
  NodeInfo info;
  info.type = static_cast<NodeType>(read_8(data, 2));
  info.ports = read_8(data, 3);
  info.system_guid = Guid(read_64(data, 4));
  info.node_guid = Guid(read_64(data, 12));
  info.port_guid = Guid(read_64(data, 20));
  info.partition_capacity = read_16(data, 28);
  info.device_id = read_16(data, 30);
  info.revision = read_32(data, 32);
  info.local_port = read_8(data, 36);
  info.vendor_id = static_cast<std::uint32_t>(read_be(data, 37, 3));
  return info;
}

std::string read_node_description(AttributeBytes data) {
  return {data.begin(), std::find(data.begin(), data.end(), std::uint8_t{0})};
}

}  // namespace railweave::fabric::infiniband
