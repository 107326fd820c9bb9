// A forwarding table as host routes of a Linux switch, as commands for ip(8): one next hop for each destination, as Railweave
// computed it, and never several that the kernel would hash flows onto. Pure: writes the commands, runs none.
#pragma once

#include <string>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::fabric::linux_routes {

struct HostRoute {
  std::string destination;  // IPv4 address
  std::string interface;    // "": packets are refused (no route)
  std::string gateway;      // address of the next switch, which may be off the link; "": the destination is on the link
};

// Errors, kind invalid, code "routes.invalid": what would be misread as an address or an interface, a destination twice.
Result<void> check_routes(const std::vector<HostRoute>& routes);

// Each replaces the destination's route. Errors: check_routes().
Result<std::vector<std::string>> route_commands(const std::vector<HostRoute>& routes);

}  // namespace railweave::fabric::linux_routes
