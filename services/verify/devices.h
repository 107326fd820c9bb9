// Whether devices, as their tables say (tables.h), are those of the fabric, run as the certificate counts on, and have the
// keys that contracts give. Used by main.cc.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "services/verify/network.h"
#include "services/verify/tables.h"
#include "services/verify/verdict.h"

namespace railweave::verify {

// Tables of switches and ports that the fabric does not have, or the other way round.
void check_devices(const SubnetTables& tables, const Network& network, Verdict& verdict);

// What the network is by what its devices say: the rate of a link is the least of what was accepted and what its ports run at,
// LIDs are those that adapters have.
void take_facts(const SubnetTables& tables, Network& network, Verdict& verdict);

// What ports can hold. known: whether devices reported it; else as large as ports can be.
struct PortLimits {
  bool known = false;
  std::int64_t entries = 64, mtu_bytes = 4096;
  void add(std::int64_t entries_of_one, std::int64_t mtu_of_one);
};
PortLimits limits_of(const SubnetTables& tables);
// In units of 64 bytes, with all headers.
std::int64_t largest_packet(std::int64_t mtu_bytes);
// The certificate's `ports` are what the journal, or the devices themselves, say; with neither, only possible ones.
void check_limits(const nlohmann::json& certificate, const PortLimits* by_journal, const PortLimits* by_devices,
                  Verdict& verdict);

// The ports of each node have the keys of the tenants with jobs there, and of no other tenant.
void check_keys(const SubnetTables& tables, const Network& network, const std::map<std::string, std::uint16_t>& pkeys,
                const std::map<std::string, std::set<std::string>>& tenants_by_node, Verdict& verdict);

}  // namespace railweave::verify
