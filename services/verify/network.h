// The fabric and the routes as railweave-verify reads them: ports, cables and table entries only. Shares no code with
// the rest of the project, so that its verdict is independent. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace railweave::verify {

using PortName = std::string;                        // "<guid>/<port>"
using DirectedLink = std::pair<PortName, PortName>;  // egress port, the port at its other end

inline constexpr std::int64_t kUnknownRateMbps = 100'000;  // of links whose rate no one says

struct Network {
  std::map<PortName, PortName> peer;
  std::map<PortName, std::int64_t> rate_mbps;               // 0: unknown
  std::set<PortName> infiniband;                            // ports of InfiniBand links
  std::map<PortName, std::uint64_t> end_port_lid;           // of adapter ports; 0: not in the file
  std::map<PortName, unsigned> end_port_lmc;                // of adapter ports
  std::map<PortName, std::string> host;                     // of adapter ports: the name of their host
  std::map<std::string, std::size_t> host_number;           // in the order of the file
  std::map<std::string, std::vector<std::string>> domains;  // by host: the NVLink domain of each GPU; "": none
  std::set<std::string> switches;                           // GUIDs
  std::map<std::string, std::string> subnet;                // by switch GUID: its name
  std::set<PortName> dead;                                  // both ends of links that are down
};

// By switch GUID: the same number for switches that live cables join.
using Parts = std::map<std::string, std::size_t>;
Parts parts_of(const Network& network, const PortName& without = {});  // without: the cable at that port
Parts cabled_parts_of(const Network& network);                         // by all cables, up or not
// "<guid>/<port>--<guid>/<port>" of each cable between two switches that is up, the smaller name first.
std::vector<std::string> switch_links(const Network& network);
std::string switch_of(const PortName& port);  // GUID
unsigned number_of(const PortName& port);

// The data rate of one lane of a link, by the name of its speed; 0: unknown.
std::int64_t lane_mbps(const std::string& speed);

// Throws std::runtime_error that says what is wrong.
Network read_network(const std::string& path);

// The egress ports of a switch by LID; 0: the switch itself.
class Entries {
 public:
  static constexpr std::uint64_t kLids = 0xc000;  // those of single ports
  // False: the LID has one already. Throws where it is no LID of a single port, or this no port.
  bool add(std::uint64_t lid, unsigned port);
  void set(std::uint64_t lid, unsigned port);
  [[nodiscard]] unsigned port(std::uint64_t lid) const {  // 0 where there is none
    return lid < port_of_.size() && port_of_[lid] != kNone ? port_of_[lid] : 0U;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  template <class Visit>
  void each(const Visit& visit) const {  // ascending
    for (std::uint64_t lid = 0; lid < port_of_.size(); ++lid) {
      if (port_of_[lid] != kNone) visit(lid, static_cast<unsigned>(port_of_[lid]));
    }
  }

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  std::vector<std::uint16_t> port_of_;
  std::size_t size_ = 0;
};

struct Routes {
  std::map<std::string, Entries> port_of;  // by switch GUID
  std::string digest;
};
Routes read_routes(const std::string& path);
std::string entries_digest(const Routes& routes);  // as certificate.md defines it

std::string file_text(const std::string& path);

}  // namespace railweave::verify
