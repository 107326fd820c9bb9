// End ports as callers name them: a node ("dgx-017"), one of its adapters ("dgx-017/mlx5_3"), a port ("<guid>/<port>")
// or a LID ("lid:17").
#pragma once

#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/topology/topology.h"

namespace railweave::api {

// The ports with a cable, in order of device; never empty. Errors: unknown name, or none of its ports has a cable.
Result<std::vector<fabric::PortId>> find_end_ports(const fabric::Topology& topology, const std::string& text);

}  // namespace railweave::api
