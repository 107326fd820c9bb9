// What a cable's end is, in whatever lists ports. Private to api/dto.
#pragma once

#include "api/dto/json_out.h"
#include "fabric/topology/topology.h"

namespace railweave::api {

Out link_end_json(const fabric::Topology& topology, fabric::PortId port);

}  // namespace railweave::api
