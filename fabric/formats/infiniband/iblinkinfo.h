// Reads the output of `iblinkinfo` (infiniband-diags), also with -l (one line per port) and --port-guids:
//
//   CA: node-7 mlx5_0:
//         0xe09d730300156ff6      7    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      73   12[  ] "leaf-1" ( )
//   Switch: 0x2c5eab0300b87b40 MF0;leaf-1:MQM9700/U1:
//             73   12[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       7    1[  ] "node-7 mlx5_0" ( )
//             73   13[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//
// The other end of a link is found by its LID, as the tool prints no GUID of it; where one LID is that of two devices, as
// in a subnet without a subnet manager, the link is left out. An adapter is known by the GUID of its first port, as the
// tool prints no other. Links that are down, and what stands in the last parentheses, count for nothing.
// Findings: unreadableLine, peerNotFound and those of SubnetDraft. Errors: no device at all, too many unreadable lines.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

bool is_iblinkinfo_line(std::string_view line);
Result<void> read_iblinkinfo(std::string_view text, const ReadOptions& options, TopologyBuilder& builder);

}  // namespace railweave::fabric
