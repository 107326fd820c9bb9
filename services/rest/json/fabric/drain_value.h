// The drain of a link, switch or node as part of its JSON. Private to this folder.
#pragma once

#include <vector>

#include "fabric/topology/topology.h"
#include "services/json/json_out.h"
#include "services/rest/json/fabric/drain.h"

namespace railweave::api {

// End ports that are cut off, the first thousand.
Out cut_off_json(const fabric::Topology& topology, const std::vector<fabric::PortId>& ports);

// null: not drained.
Out drain_json(const ShownDrain& shown);

}  // namespace railweave::api
