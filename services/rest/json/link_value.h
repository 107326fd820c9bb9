// One end of a link as a JSON value. Private to this folder.
#pragma once

#include "fabric/topology/topology.h"
#include "services/json/json_out.h"

namespace railweave::api {

Out link_end_json(const fabric::Topology& topology, fabric::PortId port);

}  // namespace railweave::api
