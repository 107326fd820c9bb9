// Reads what UFM answers to GET /ufmRest/resources/ports (its REST API guide, "Ports REST API"): a list of all ports of a
// subnet, which names their devices, peers and rates.
//
//   [{"name": "248a0703008a850b_1", "description": "Computer IB Port", "system_name": "node-7", "lid": 12,
//     "node_description": "node-7 mlx5_1", "physical_state": "Link Up", "active_speed": "NDR", "active_width": "4x",
//     "peer": "248a070300f88fe0_20", ...}]
//
// A port's name is the GUID of the port of an adapter, or of the switch, and the port's number. Findings: portNotNamed (of
// ports whose names are none), peerNotFound and those of SubnetDraft. Errors: no such JSON, no port, tooLarge.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

Result<void> read_ufm_ports(std::string_view text, const ReadOptions& options, TopologyBuilder& builder);

}  // namespace railweave::fabric
