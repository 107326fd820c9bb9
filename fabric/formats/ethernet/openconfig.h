// Reads what a switch answers by OpenConfig's models, as gNMI tools write it (JSON_IETF): neighbours of LLDP
// (openconfig-lldp) and rates of ports (openconfig-if-ethernet), as a document of the device or in the list that
// `gnmic get` prints:
//
//   [{"source": "leaf-1:57400", "updates": [{"values": {"lldp": {"openconfig-lldp:interfaces": {"interface": [
//      {"name": "Ethernet0", "neighbors": {"neighbor": [{"state": {"system-name": "node-7", "port-id": "eth0"}}]}}]}}}}]}]
//
// A device is called by its own system-name, else by its source, else by the file's name. Neighbours without a name or a
// port are left out. Errors: no such JSON, no interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/ethernet/ethernet_cables.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

// Returns the interfaces whose neighbours were left out.
Result<std::vector<std::string>> read_openconfig(std::string_view text, const std::string& device,
                                                 const ReadOptions& options, EthernetCables& cables);

}  // namespace railweave::fabric
