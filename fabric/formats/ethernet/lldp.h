// Reads `lldpctl -f json` (lldpd, also SONiC's), the neighbours of one device, in the form of json and of json0:
//
//   {"lldp": {"interface": [{"eth0": {"chassis": {"leaf-1": {"capability": [{"type": "Bridge", "enabled": true}]}},
//                                     "port": {"id": {"type": "ifname", "value": "Ethernet12"}}}}]}}
//
// The output does not name the device that it is of: `device` does (the file's name, by the caller).
// Neighbours without a name or a port are left out. Errors: no such JSON, no interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/ethernet/ethernet_cables.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

// Returns the interfaces whose neighbours were left out.
Result<std::vector<std::string>> read_lldp(std::string_view text, const std::string& device, const ReadOptions& options,
                                           EthernetCables& cables);

}  // namespace railweave::fabric
