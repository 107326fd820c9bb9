#include "fabric/drivers/infiniband/subnet_topology.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/infiniband/subnet_draft.h"

namespace railweave::fabric::infiniband {

namespace {

NetlistDevice device_type(NodeType type) {
  switch (type) {
    case NodeType::networkSwitch:
      return NetlistDevice::network_switch;
    case NodeType::router:
      return NetlistDevice::router;
    case NodeType::channelAdapter:
      break;
  }
  return NetlistDevice::adapter;
}

void add_silent(const SubnetMap& map, TopologyBuilder& builder) {
  if (map.silent.empty()) return;
  constexpr std::size_t kMaxObjects = 1000;
  Finding finding{"silentDevice",
                  Severity::warning,
                  fmt::format("{}{} not answer subnet management; what is behind may be missing", map.silent.size(),
                              map.silent.size() == 1 ? " device does" : " devices do"),
                  {}};
  for (const auto& device : map.silent) {
    if (finding.objects.size() == kMaxObjects) break;
    finding.objects.push_back(device.guid.known() ? to_string(device.guid)
                                                  : fmt::format("{}/{}", to_string(device.behind), device.port));
  }
  builder.add_finding(std::move(finding));
}

}  // namespace

Result<Topology> to_topology(const SubnetMap& map, const ReadOptions& options) {
  SubnetDraft draft;
  std::vector<std::uint32_t> device(map.nodes.size(), kNoNode);
  for (std::uint32_t n = 0; n < map.nodes.size(); ++n) {
    const SubnetNode& node = map.nodes[n];
    if (!node.present) continue;
    SubnetDraft::Device described{.type = device_type(node.info.type),
                                  .guid = node.guid(),
                                  .ports = node.info.ports,
                                  .description = node.description};
    described.has_section = true;
    if (node.is_switch() && !node.ports.empty()) {
      described.lid = node.ports[0].info.lid;
      described.lmc = node.ports[0].info.lmc;
    }
    device[n] = draft.add_device(described);
  }
  const auto port_lid = [&](std::uint32_t n, std::uint8_t port) -> unsigned {
    const SubnetNode& node = map.nodes[n];
    return node.ports[node.is_switch() ? 0 : port].info.lid;
  };
  for (std::uint32_t n = 0; n < map.nodes.size(); ++n) {
    const SubnetNode& node = map.nodes[n];
    if (!node.present) continue;
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
      const SubnetPort& port = node.ports[p];
      if (port.peer == kNoNode || device[port.peer] == kNoNode) continue;
      draft.add_cable_end({.device = device[n],
                           .port = static_cast<unsigned>(p),
                           .peer = device[port.peer],
                           .peer_port = port.peer_port,
                           .guid = port.guid,
                           .peer_guid = map.nodes[port.peer].ports[port.peer_port].guid,
                           .lid = node.is_switch() ? 0U : port.info.lid,
                           .lmc = node.is_switch() ? 0U : port.info.lmc,
                           .peer_lid = port_lid(port.peer, port.peer_port),
                           .link = node.link(p)});
    }
  }
  if (draft.over_limit()) return std::unexpected(SubnetDraft::over_limit_error(options));
  TopologyBuilder builder;
  add_silent(map, builder);
  if (auto moved = std::move(draft).move_into(options, builder); !moved) return std::unexpected(moved.error());
  return std::move(builder).build();
}

}  // namespace railweave::fabric::infiniband
