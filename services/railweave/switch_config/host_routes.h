// A switch's forwarding table, as the service answers it, as routes by addresses and interfaces.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabric/drivers/linux_routes/route_commands.h"
#include "services/railweave/switch_config/switch_config.h"

namespace railweave::cli {

// One for every adapter that has an address; those without are named in notes. interface_of: a port, by its number. Not yet
// checked (check_routes()). Throws CommandFailure.
std::vector<fabric::linux_routes::HostRoute> host_routes(
    const Json& table, const NetworkNames& names, const std::function<std::string(const std::string&)>& interface_of,
    std::vector<std::string>& notes);

}  // namespace railweave::cli
