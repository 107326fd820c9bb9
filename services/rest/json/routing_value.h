// What answers about routes share. Private to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/topology/topology.h"
#include "services/json/json_out.h"

namespace railweave::api {

// A device as people know it: a switch by its name, an adapter by its host and device.
std::string device_text(const fabric::Topology& topology, fabric::PortId port);
// A directed link by the port that packets leave by; null: none.
Out directed_link_json(const fabric::Topology& topology, fabric::PortId port);
std::string digest_text(std::uint64_t digest);  // 16 hexadecimal digits

}  // namespace railweave::api
