// Which classes of traffic the ports of a subnet can hold, as its devices report it: what a contract or a list of classes
// asks for is refused where ports could not give it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace railweave::control {

// Each is the smallest of the subnet's ports, the MTU the largest.
struct PortLimits {
  std::uint64_t data_lanes = 0;
  std::uint64_t arbitration_entries = 0;
  std::uint64_t mtu_bytes = 0;
  bool by_opensm = false;  // in opensm mode: its plugin gives every port tables of its own
  friend bool operator==(const PortLimits&, const PortLimits&) = default;
};

using PortLimitsTable = std::map<std::string, PortLimits, std::less<>>;  // by subnet

}  // namespace railweave::control
