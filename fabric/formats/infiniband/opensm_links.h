// Reads OpenSM's opensm-subnet.lst (`opensm -D 0x43`, also written by ibdiagnet as ibdiagnet.lst): a line per link.
//
//   { CA Ports:02 SystemGUID:... NodeGUID:... PortGUID:... VenID:... DevID:... Rev:... {node-7 mlx5_0} LID:0007 PN:01 }
//   { SW Ports:40 SystemGUID:... NodeGUID:... PortGUID:... ... {leaf-1} LID:0049 PN:0C } PHY=4x LOG=ACT SPD=100
//
// in one line. Numbers are hexadecimal. Findings: unreadableLine and those of SubnetDraft.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

bool is_opensm_link_line(std::string_view line);
Result<void> read_opensm_links(std::string_view text, const ReadOptions& options, TopologyBuilder& builder);

}  // namespace railweave::fabric
