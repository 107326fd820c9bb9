// Reads the output of `ibnetdiscover` (infiniband-diags, rdma-core's ibnetdiscover.c), also as mail, editors and
// terminals change it: CR LF, tabs turned into blanks, sections cut off. Grouped output (-g, with chassis) and -f are
// read as well.
//
//  - Adapters whose descriptions ("host device") name the same host become one host; its kind is guessed from the name
//    (host_names.h). An adapter whose description names no machine, or names the device that another adapter
//    already has, becomes a host of its own: HostKind::unnamed, called after its GUID.
//  - "... Aggregation Node" adapters and routers (Rt) belong to no host.
//  - Links appear twice, once for each end; where the ends disagree, or one is missing, the builder finds it.
//  - A device that is only named as the other end of a link is taken from there (finding deviceWithoutSection).
//  - LIDs above 49151, such as 65535, count as not assigned. Missing LIDs, widths and speeds stay unknown.
// Findings: unreadableLine, duplicateSection, deviceWithoutSection, duplicateDescription, lidNotUnicast,
// unprintableName. Errors: no device at all, or more than kMaxUnreadableLines lines that cannot be read. O(bytes);
// reads about 100 MB/s.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

Result<void> read_ibnetdiscover(std::string_view text, const ReadOptions& options, TopologyBuilder& builder);

}  // namespace railweave::fabric
