#include "fabric/drivers/linux_routes/route_commands.h"

#include <set>

#include "fabric/drivers/linux_tc/interface_name.h"

namespace railweave::fabric::linux_routes {

Result<void> check_routes(const std::vector<HostRoute>& routes) {
  const auto refuse = [](const std::string& text, const char* what) {
    return fail(ErrorKind::invalid, "routes.invalid", "'" + text + "' " + what);
  };
  std::set<std::string> seen;
  for (const HostRoute& one : routes) {
    if (!linux_tc::is_ipv4_address(one.destination)) return refuse(one.destination, "is no IPv4 address");
    if (!seen.insert(one.destination).second) return refuse(one.destination, "has two routes");
    if (one.interface.empty()) continue;
    if (!linux_tc::is_interface_name(one.interface)) return refuse(one.interface, "is no name of an interface");
    if (!one.gateway.empty() && !linux_tc::is_ipv4_address(one.gateway)) {
      return refuse(one.gateway, "is no IPv4 address");
    }
  }
  return {};
}

Result<std::vector<std::string>> route_commands(const std::vector<HostRoute>& routes) {
  if (auto checked = check_routes(routes); !checked) return std::unexpected(checked.error());
  std::vector<std::string> commands;
  for (const HostRoute& one : routes) {
    if (one.interface.empty()) {
      commands.push_back("ip route replace unreachable " + one.destination + "/32");
      continue;
    }
    // onlink: switches are known by addresses of their own, of no cable's network.
    const std::string via = one.gateway.empty() ? "" : " via " + one.gateway;
    commands.push_back("ip route replace " + one.destination + "/32" + via + " dev " + one.interface +
                       (one.gateway.empty() ? "" : " onlink"));
  }
  return commands;
}

}  // namespace railweave::fabric::linux_routes
