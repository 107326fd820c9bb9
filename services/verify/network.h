// The fabric and the routes as railweave-verify reads them: ports, cables and table entries only. Shares no code with
// the rest of the project, so that its verdict is independent. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace railweave::verify {

using PortName = std::string;                        // "<guid>/<port>"
using DirectedLink = std::pair<PortName, PortName>;  // egress port, the port at its other end

struct Network {
  std::map<PortName, PortName> peer;
  std::map<PortName, std::int64_t> rate_mbps;
  std::set<PortName> infiniband;                            // ports of InfiniBand links
  std::map<PortName, std::uint64_t> end_port_lid;           // of adapter ports; 0: not in the file
  std::map<PortName, std::string> host;                     // of adapter ports: the name of their host
  std::map<std::string, std::size_t> host_number;           // in the order of the file
  std::map<std::string, std::vector<std::string>> domains;  // by host: the NVLink domain of each GPU; "": none
  std::set<std::string> switches;                           // GUIDs
  std::set<PortName> dead;                                  // both ends of links that are down
};

// By switch GUID: the same number for switches that live cables join.
using Parts = std::map<std::string, std::size_t>;
Parts parts_of(const Network& network, const PortName& without = {});  // without: the cable at that port
// "<guid>/<port>--<guid>/<port>" of each cable between two switches that is up, the smaller name first.
std::vector<std::string> switch_links(const Network& network);
std::string switch_of(const PortName& port);  // GUID

// Throws std::runtime_error that says what is wrong.
Network read_network(const std::string& path);

struct Routes {
  std::map<std::string, std::map<std::uint64_t, unsigned>>
      port_of;  // switch GUID -> LID -> egress port; 0: the switch itself
  std::string digest;
};
Routes read_routes(const std::string& path);

// The directed links of the route from one end port to another; none: packets do not arrive.
std::optional<std::vector<DirectedLink>> walk(const Network& network, const Routes& routes, const PortName& from,
                                              const PortName& to, std::uint64_t to_lid);

std::string file_text(const std::string& path);

}  // namespace railweave::verify
