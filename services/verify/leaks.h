// Whether a host gets onto a lane of a job's own that is not one of that job's: from every adapter port, with every service
// level that some switch leads to such a lane, to every LID, by the maps and forwarding tables that switches hold. What
// adapters hold themselves does not count: a host can change it. Used by main.cc.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "services/verify/network.h"
#include "services/verify/tables.h"
#include "services/verify/verdict.h"

namespace railweave::verify {

using JobPorts = std::map<PortName, std::set<std::string>>;  // the jobs whose ranks send by an adapter port
JobPorts job_ports(const nlohmann::json& certificate);       // as far as it says

// The number of places at switches where packets get onto a lane from elsewhere than links of its owner: without any, no
// walk is needed. A fault for each owner and host.
std::size_t check_leaks(const SubnetTables& tables, const Network& network, const nlohmann::json& certificate,
                        const JobPorts& jobs, Verdict& verdict);

// Adapter ports by which a switch lets in the levels of a class that is not open, with no job of that class there.
std::size_t ports_let_in(const SubnetTables& tables, const Network& network, const nlohmann::json& certificate,
                         const std::string& qos_class, const JobPorts& jobs);

}  // namespace railweave::verify
