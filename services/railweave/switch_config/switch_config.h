// What the service wants of an Ethernet switch, its queues and its routes, as that switch's configuration: commands of a Linux
// switch, or tables of SONiC.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// What the service does not know of a network. Ports go by their numbers: others are interfaces swp<number>, of SONiC Ethernet<n>
// with a step between the numbers (port 5 is Ethernet32 where it is 8), and gateways of others are the next switch's address.
struct NetworkNames {
  std::map<std::string, std::string> addresses;  // IPv4, of adapters ("dgx-017/mlx5_3") and of switches themselves
  std::map<std::string, std::string> interfaces, gateways;
};
// {"addresses": {...}, "interfaces": {...}, "gateways": {...}, "switches": {"leaf-07": {"interfaces": {...}, "gateways": {...}}}}; what
// is said of the switch itself holds for it. Throws CommandFailure.
NetworkNames read_network_names(const Json& document, const std::string& sw);

struct SwitchScript {
  std::string text;                                  // for sh
  std::set<std::string> interfaces;                  // that it configures
  std::map<std::string, std::uint64_t> speeds_mbps;  // of these, where their links are in use
};

// HTB classes of every port, and the filter of marks on those that face a host. Destinations without an address are admitted no
// mark, with a note. Throws CommandFailure.
SwitchScript tc_script(const Json& queues, const NetworkNames& names, std::vector<std::string>& notes);

// A route for every adapter with an address. table: the items of the switch's forwarding table. Throws CommandFailure.
SwitchScript route_script(const Json& table, const NetworkNames& names, std::vector<std::string>& notes);

// A script that tells, on the switch and without changing it, whether it has what the other configures. The kernel is asked twice:
// for the switch's own, and for the same script's work in a network namespace apart, so nothing here knows how it shows things.
// Interfaces that are down, and adapters of another speed, are named; veth and the like have no speed of their own. Other tables of
// netfilter, and other routing tables, are not looked at.
std::string check_script(const SwitchScript& wanted, bool is_of_routes);

// What is not known of a SONiC switch.
struct SonicSwitch {
  std::uint64_t port_step = 8;    // between the numbers of ports: Ethernet0, Ethernet8, ...
  std::uint64_t buffer_mib = 64;  // packet memory
};

// config_db.json of the same routes (STATIC_ROUTE). Throws CommandFailure.
std::string sonic_routes(const Json& table, const NetworkNames& names, std::uint64_t port_step,
                         std::vector<std::string>& notes);

// config_db.json of the switch's QoS: weights, trusted marks and re-marking, pauses, headroom and ECN. Throws CommandFailure.
std::string sonic_lane_tables(const Json& queues, const NetworkNames& names, const SonicSwitch& sw,
                              std::vector<std::string>& notes);

// The names that SONiC has for the switch's ports whose links are in use, with their rates in Mb/s.
std::map<std::string, std::uint64_t> sonic_ports(const Json& queues, const NetworkNames& names, const SonicSwitch& sw);

}  // namespace railweave::cli
