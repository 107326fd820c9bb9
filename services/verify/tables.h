// What switches and adapters hold, as a file says it (tables.md), and whether it is what the certificate needs of lanes and
// arbitration. Used by main.cc. Throws std::exception if the file is not well formed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "services/verify/network.h"
#include "services/verify/verdict.h"

namespace railweave::verify {

// What a port says of itself.
struct PortFacts {
  std::uint64_t lid = 0;  // of an adapter's
  unsigned lmc = 0, mtu_bytes = 0, data_lanes = 0, arbitration_entries = 0;
  std::int64_t rate_mbps = 0;  // as active; 0: unknown
};

struct PortTables {
  std::optional<PortFacts> facts;
  std::map<unsigned, std::array<unsigned, 16>> lane_of;          // by input port (0: of an adapter) and service level
  std::vector<std::pair<std::int64_t, std::int64_t>> high, low;  // lane and weight
  std::vector<std::uint16_t> pkeys;
  bool has_arbitration = false;
};

struct SubnetTables {
  Routes routes;
  std::map<PortName, PortTables> ports;
};

// Whether the file is of this form; else it is a dump of forwarding tables alone.
bool is_subnet_tables(const std::string& path);
// Faults: tables that are there twice, or not whole.
SubnetTables read_subnet_tables(const std::string& path, Verdict& verdict);

// Those of another subnet. A fault where a switch or a port is in both.
void add_tables(SubnetTables& tables, SubnetTables&& more, Verdict& verdict);

// On every link with a reservation: the port serves the turns that the certificate says, service levels of its classes and
// owners of lanes lead to their lanes from every port, and no other level to the lane of an owner.
void check_lanes(const SubnetTables& tables, const Network& network, const nlohmann::json& certificate,
                 Verdict& verdict);

}  // namespace railweave::verify
