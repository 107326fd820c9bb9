// Reads any format that describes a whole fabric, named or recognised by its first lines. Used by the import of the
// service and by `railweave lab`.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/format.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// Format::unknown stands for auto. Errors: the format cannot be told; it is one that describes machines rather than a
// fabric (nccl_topology, nvidia_smi_topo, nvlink_cliques); and the reader's.
Result<void> read_into(std::string_view text, Format format, const ReadOptions& options, TopologyBuilder& builder);

// The same, built.
Result<Topology> read_fabric(std::string_view text, Format format = Format::unknown, const ReadOptions& options = {});

}  // namespace railweave::fabric
