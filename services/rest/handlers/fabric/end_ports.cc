#include "services/rest/handlers/fabric/end_ports.h"

#include "services/rest/handlers/list_query.h"

namespace railweave::api {
namespace {

using fabric::HcaId;
using fabric::PortId;
using fabric::Topology;

void add_cabled(const Topology& topology, HcaId hca, std::vector<PortId>& ports) {
  for (const PortId port : topology.ports(hca)) {
    if (topology.peer(port)) ports.push_back(port);
  }
}

// The cabled ports of what `text` names; false: it names nothing.
bool look_up(const Topology& topology, const std::string& text, std::vector<PortId>& ports) {
  if (text.starts_with("lid:")) {
    const auto lid = parse_number("lid", std::string_view(text).substr(4), UINT16_MAX);
    if (!lid || *lid == 0) return false;
    bool found = false;
    for (const PortId port : topology.hca_ports()) {
      if (topology.lid(port) != *lid) continue;
      found = true;
      if (topology.peer(port)) ports.push_back(port);
    }
    return found;
  }
  if (const auto host = topology.find_host(text)) {
    for (const HcaId hca : topology.hcas(host)) add_cabled(topology, hca, ports);
    return true;
  }
  if (const PortId port = topology.find_port(text); port && topology.is_hca_port(port)) {
    if (topology.peer(port)) ports.push_back(port);
    return true;
  }
  const auto slash = text.rfind('/');
  if (slash == std::string::npos) return false;
  const auto host = topology.find_host(std::string_view(text).substr(0, slash));
  if (!host) return false;
  for (const HcaId hca : topology.hcas(host)) {
    if (topology.device(hca) != std::string_view(text).substr(slash + 1)) continue;
    add_cabled(topology, hca, ports);
    return true;
  }
  return false;
}

}  // namespace

Result<std::vector<PortId>> find_end_ports(const Topology& topology, const std::string& text) {
  std::vector<PortId> ports;
  if (!look_up(topology, text, ports)) {
    return fail(ErrorKind::notFound, "endPorts.notFound", "there is no node, adapter or end port '" + text + "'", {},
                "a node, <node>/<device>, <guid>/<port> or lid:N; GET /v1/nodes lists them");
  }
  if (ports.empty()) {
    return fail(ErrorKind::notFound, "endPorts.noCable", "'" + text + "' has no cable to a switch", {}, {});
  }
  return ports;
}

}  // namespace railweave::api
