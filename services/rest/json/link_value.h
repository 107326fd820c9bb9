// Links and their ends, as JSON values and by name. For answers alone.
#pragma once

#include <string>

#include "fabric/topology/topology.h"
#include "services/json/json_out.h"

namespace railweave::api {

// "leaf-1/5", "dgx-017/mlx5_4/1": a port as people know it; its id where such a text is another port's, or none's.
std::string port_name(const fabric::Topology& topology, fabric::PortId port);
// "<port>--<port>", the ports in the order of the link's id. Topology::find_link() reads it.
std::string link_name(const fabric::Topology& topology, fabric::LinkId link);

Out link_end_json(const fabric::Topology& topology, fabric::PortId port);

}  // namespace railweave::api
