// Reads what UFM answers to GET /ufmRest/resources/links (its REST API guide, "Links REST API"): a list of the cables of a
// subnet, without their speeds.
//
//   [{"source_guid": "248a070300f88fe0", "source_port": "20", "source_port_dname": "20", "width": "4x",
//     "source_port_node_description": "leaf-1:20", "destination_guid": "248a0703008a850b", "destination_port": "1",
//     "destination_port_dname": "HCA-1/1", "destination_port_node_description": "node-7 mlx5_1", ...}]
//
// An end whose port is called "HCA-..." is an adapter, any other a switch. Findings: unreadableLink (of links whose ends have
// no GUID or number), speedAssumed, those of SubnetDraft. Errors: no such JSON, no link, tooLarge.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/link.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// `speed` is taken for that of every link; unknown: their rates stay unknown, and nothing is assumed.
Result<void> read_ufm_links(std::string_view text, const ReadOptions& options, LinkSpeed speed,
                            TopologyBuilder& builder);

}  // namespace railweave::fabric
