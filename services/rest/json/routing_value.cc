#include "services/rest/json/routing_value.h"

#include <cstdio>

#include <fmt/core.h>

#include "services/json/contract_object.h"

namespace railweave::api {

using fabric::PortId;
using fabric::Topology;

std::string device_text(const Topology& topology, PortId port) {
  if (const auto sw = topology.switch_of(port)) return std::string(topology.name(sw));
  const auto hca = topology.hca_of(port);
  if (!hca) return topology.port_text(port);
  if (!topology.host(hca)) return std::string(topology.description(hca));
  return fmt::format("{}/{}", topology.name(topology.host(hca)), topology.device(hca));
}

Out directed_link_json(const Topology& topology, PortId port) {
  if (!port) return nullptr;
  return object<"DirectedLink">(
      with<"from">(device_text(topology, port)), with<"to">(device_text(topology, topology.peer(port))),
      with<"port">(topology.port_text(port)), with<"link">(topology.link_text(topology.link(port))));
}

std::string digest_text(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

}  // namespace railweave::api
