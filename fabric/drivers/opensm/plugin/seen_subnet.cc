#include "fabric/drivers/opensm/plugin/seen_subnet.h"

#include <span>

#include "fabric/drivers/infiniband/mad/node_info.h"
#include "fabric/drivers/infiniband/mad/port_info.h"

namespace railweave::fabric::opensm {
namespace {

// OpenSM keeps attributes as they are on the wire; they are read as in Railweave's own discovery.
template <class Attribute>
infiniband::AttributeBytes bytes_of(const Attribute& attribute) {
  static_assert(sizeof(Attribute) == 64);
  return infiniband::AttributeBytes(reinterpret_cast<const std::uint8_t*>(&attribute), 64);
}

NetlistDevice type_of(const osm_node_t& node) {
  switch (node.node_info.node_type) {
    case IB_NODE_TYPE_SWITCH:
      return NetlistDevice::network_switch;
    case IB_NODE_TYPE_ROUTER:
      return NetlistDevice::router;
    default:
      return NetlistDevice::adapter;
  }
}

const osm_physp_t* port_of(const osm_node_t& node, unsigned number) {
  if (number >= node.physp_tbl_size) return nullptr;
  const osm_physp_t* port = &node.physp_table[number];
  return osm_physp_is_valid(port) ? port : nullptr;
}

// The LID that OpenSM gave the port. Setting it may have failed, or another port may have it by now.
Lid lid_of(const osm_subn_t& subnet, const osm_physp_t& port) {
  const Lid lid = cl_ntoh16(osm_physp_get_base_lid(&port));
  if (lid == 0 || lid >= cl_ptr_vector_get_size(&subnet.port_lid_tbl)) return 0;
  const auto* holder = static_cast<const osm_port_t*>(cl_ptr_vector_get(&subnet.port_lid_tbl, lid));
  return holder != nullptr && holder->p_physp == &port ? lid : Lid{0};
}

CabledPort seen_port(const osm_subn_t& subnet, const osm_node_t& node, const osm_physp_t& port, bool extended_speeds) {
  CabledPort seen;
  const infiniband::PortInfo info = infiniband::read_port_info(bytes_of(port.port_info));
  if (type_of(node) != NetlistDevice::network_switch) {
    seen.guid = guid_of(osm_physp_get_port_guid(&port));
    seen.lid = lid_of(subnet, port);
    seen.lmc = seen.lid == 0 ? std::uint8_t{0} : osm_physp_get_lmc(&port);
    extended_speeds = info.has_extended_speeds();
  }
  const osm_physp_t* const peer = osm_physp_get_remote(&port);
  if (peer == nullptr || !osm_physp_is_valid(peer) || peer->p_node == nullptr) return seen;
  seen.peer = guid_of(osm_node_get_node_guid(peer->p_node));
  seen.peer_port = peer->port_num;
  seen.link = info.link(extended_speeds);
  seen.healthy = osm_physp_is_healthy(&port) != FALSE && osm_physp_is_healthy(peer) != FALSE;
  return seen;
}

}  // namespace

Cabling seen_subnet(const osm_subn_t& subnet) {
  Cabling cabling;
  const cl_qmap_t& nodes = subnet.node_guid_tbl;
  for (const cl_map_item_t* at = cl_qmap_head(&nodes); at != cl_qmap_end(&nodes); at = cl_qmap_next(at)) {
    const osm_node_t& node = *reinterpret_cast<const osm_node_t*>(at);
    CabledDevice device;
    device.type = type_of(node);
    device.description = infiniband::read_node_description(bytes_of(node.node_desc));
    device.ports.resize(node.node_info.num_ports);
    bool extended_speeds = false;
    if (const osm_physp_t* management = port_of(node, 0); management != nullptr && node.sw != nullptr) {
      device.lid = lid_of(subnet, *management);
      device.lmc = device.lid == 0 ? std::uint8_t{0} : osm_physp_get_lmc(management);
      extended_speeds = infiniband::read_port_info(bytes_of(management->port_info)).has_extended_speeds();
    }
    for (unsigned p = 1; p <= device.ports.size(); ++p) {
      if (const osm_physp_t* port = port_of(node, p)) {
        device.ports[p - 1] = seen_port(subnet, node, *port, extended_speeds);
      }
    }
    cabling.devices.emplace(guid_of(osm_node_get_node_guid(&node)), std::move(device));
  }
  return cabling;
}

}  // namespace railweave::fabric::opensm
