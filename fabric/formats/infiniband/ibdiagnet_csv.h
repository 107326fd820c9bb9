// Reads ibdiagnet2.db_csv, what ibdiagnet finds in a subnet, as sections of comma-separated rows:
//
//   START_NODES
//   NodeDesc,NumPorts,NodeType,...,NodeGUID,PortGUID,...
//   "MF0;leaf-1:MQM9700/U1",65,2,...
//   END_NODES
//   START_PORTS ... END_PORTS     widths, speeds, LIDs
//   START_LINKS
//   NodeGuid1,PortNum1,NodeGuid2,PortNum2
//   END_LINKS
//
// Columns are found by their titles; sections may come in any order, and others are stepped over. NodeType 1 is an
// adapter, 2 a switch, 3 a router. Findings: unreadableLine, those of SubnetDraft.
// Errors: no section of nodes or links (code input.noDevice), too many unreadable rows.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

Result<void> read_ibdiagnet_csv(std::string_view text, const ReadOptions& options, TopologyBuilder& builder);

}  // namespace railweave::fabric
