// What ports carried and counted in the past, of a link's two ends or of a switch's ports.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology/topology.h"
#include "services/control/live/status/live_fabric.h"

namespace railweave::api {

// detail: as the caller asked. ranges: by position in `ports`. Ports that are not read are left out; unread: why one is not read now, or "".
std::string write_counter_history(const fabric::Topology& topology, const std::string& detail,
                                  const std::vector<fabric::PortId>& ports, const control::ArchivedPorts& ranges,
                                  const std::vector<std::string>& unread);

}  // namespace railweave::api
