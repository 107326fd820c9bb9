// The native format: everything a Topology holds, as one JSON document. Also how the service keeps a fabric. The format
// is described in native_json.md; this code reads and writes version 1.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/recabling.h"
#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// Strict: unknown fields are refused by name, as are values out of range, names that refer to nothing, and names with
// control characters. The subnet of the options counts for switches that name none. Errors: location is "FILE: line L,
// column C". O(bytes), in two passes over the text and without a tree of it.
Result<void> read_native_json(std::string_view text, const ReadOptions& options, TopologyBuilder& builder);

// Reading it back and building gives an equal Topology, and writing that gives the same bytes. Rails that were inferred
// from the cabling are left out, as are duplicateGuid findings: building finds both again.
std::string write_native_json(const Topology& topology);
// The same fabric with these links in place of those that they name, and these devices in place of others. Reading it back and building derives all that
// follows from cabling; links are in another order than in what write_native_json() makes of that.
std::string write_recabled_json(const Topology& topology, std::span<const Recabling> recablings,
                                std::span<const DeviceExchange> exchanges = {});

}  // namespace railweave::fabric
