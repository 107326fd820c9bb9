// The fabric and the routes as the verifier reads them: nothing but ports, cables and table entries. Knows nothing of
// the rest of the project.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace railweave::verify {

using PortName = std::string;  // "<guid>/<port>"
using Direction = std::pair<PortName, PortName>;

struct Network {
  std::map<PortName, PortName> peer;
  std::map<PortName, std::int64_t> rate_mbps;
  std::map<PortName, std::uint64_t> end_port_lid;  // of adapters' ports; 0: the file does not say
  std::set<std::string> switches;                  // GUIDs
  std::set<PortName> dead;                         // both ends of links that are down
};

// Throws std::runtime_error with what is wrong.
Network read_network(const std::string& path);

struct Routes {
  std::map<std::string, std::map<std::uint64_t, unsigned>> port_of;  // switch GUID -> LID -> port; 0 is itself
  std::string digest;
};
Routes read_routes(const std::string& path);

// The directed links from one end port to another; none: packets do not arrive.
std::optional<std::vector<Direction>> walk(const Network& network, const Routes& routes, const PortName& from,
                                           const PortName& to, std::uint64_t to_lid);

std::string file_text(const std::string& path);

}  // namespace railweave::verify
