// Ports and directed links as answers about routes show them. Also used by `railweave lab`.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/topology/topology.h"
#include "services/json/json_out.h"

namespace railweave::api {

// A device by its name: a switch by its own, an adapter as <host>/<device>.
std::string device_text(const fabric::Topology& topology, fabric::PortId port);
// The directed link that starts at the port; JSON null: no port.
Out directed_link_json(const fabric::Topology& topology, fabric::PortId port);
std::string digest_text(std::uint64_t digest);  // 16 hexadecimal digits

}  // namespace railweave::api
