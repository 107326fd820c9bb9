#include "services/railweave/switch_config/host_routes.h"

#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

// "" where there is none.
std::string gateway_of(const NetworkNames& names, const std::string& port, const std::string& next) {
  if (const auto at = names.gateways.find(port); at != names.gateways.end()) return at->second;
  const auto at = names.addresses.find(next);
  return at == names.addresses.end() ? "" : at->second;
}

}  // namespace

std::vector<fabric::linux_routes::HostRoute> host_routes(
    const Json& table, const NetworkNames& names, const std::function<std::string(const std::string&)>& interface_of,
    std::vector<std::string>& notes) {
  std::vector<fabric::linux_routes::HostRoute> routes;
  for (const Json& entry : table) {
    const std::string destination = text_of(field(entry, "destination"), "device");
    if (text_of(field(entry, "destination"), "kind") == "switch") continue;
    const auto address = names.addresses.find(destination);
    if (address == names.addresses.end()) {
      notes.push_back(destination + " has no address, so no route");
      continue;
    }
    fabric::linux_routes::HostRoute route{address->second, {}, {}};
    if (field(entry, "wantedPort").is_number()) {
      const std::string port = text_of(entry, "wantedPort"), next = text_of(entry, "wantedTo");
      route.interface = interface_of(port);
      if (next != destination) {
        route.gateway = gateway_of(names, port, next);
        if (route.gateway.empty()) {
          fail_usage(next + " has no address, and is the next switch to " + destination,
                     "add it to the addresses, or the port's to the gateways");
        }
      }
    }
    routes.push_back(std::move(route));
  }
  return routes;
}

}  // namespace railweave::cli
