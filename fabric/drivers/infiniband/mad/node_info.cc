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

void write_node_info(AttributeSpace data, const NodeInfo& info) {
  write_be(data, 0, 1, 1);  // base version
  write_be(data, 1, 1, 1);  // class version
  write_be(data, 2, 1, static_cast<std::uint8_t>(info.type));
  write_be(data, 3, 1, info.ports);
  write_be(data, 4, 8, info.system_guid.value());
  write_be(data, 12, 8, info.node_guid.value());
  write_be(data, 20, 8, info.port_guid.value());
  write_be(data, 28, 2, info.partition_capacity);
  write_be(data, 30, 2, info.device_id);
  write_be(data, 32, 4, info.revision);
  write_be(data, 36, 1, info.local_port);
  write_be(data, 37, 3, info.vendor_id);
}

std::string read_node_description(AttributeBytes data) {
  return {data.begin(), std::find(data.begin(), data.end(), std::uint8_t{0})};
}

}  // namespace railweave::fabric::infiniband
