// What was out of use when a subnet's routes were last spread again over the links that were left. Part of ClusterState:
// durable and by name, so that a restart computes the same routes; a subnet without one has the routes of its cabling.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace railweave::control {

struct RouteBasis {
  std::vector<std::string> links;     // Topology::link_text()
  std::vector<std::string> switches;  // their names
  std::int64_t since_us = 0;
  std::uint64_t version = 0;  // seq of the event that set it
};

using RouteBasisTable = std::map<std::string, RouteBasis, std::less<>>;  // by subnet

}  // namespace railweave::control
