// What switches and adapters hold, as a file says it (tables.md), and whether it is what the certificate and the promises
// need of lanes, arbitration and keys. Used by main.cc. Throws std::exception if the file is not well formed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "services/verify/network.h"
#include "services/verify/verdict.h"

namespace railweave::verify {

struct PortTables {
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

// Tables of switches and ports that the fabric does not have, or the other way round.
void check_devices(const SubnetTables& tables, const Network& network, Verdict& verdict);

// On every link with a reservation: the port serves the turns that the certificate says, service levels of its classes and
// owners of lanes lead to their lanes from every port, and no other level to the lane of an owner.
void check_lanes(const SubnetTables& tables, const Network& network, const nlohmann::json& certificate,
                 Verdict& verdict);

// The ports of each node have the keys of the tenants with jobs there, and of no other tenant.
void check_keys(const SubnetTables& tables, const Network& network, const std::map<std::string, std::uint16_t>& pkeys,
                const std::map<std::string, std::set<std::string>>& tenants_by_node, Verdict& verdict);

}  // namespace railweave::verify
