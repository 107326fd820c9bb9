// Which host of one topology is which of another: by the GUIDs of its adapters, so that a host that was renamed is known
// again; by name where no GUID says otherwise. Pure.
#pragma once

#include <map>
#include <string>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Name before -> name after, of hosts that are called otherwise; "": the host is gone, and its name is another host's.
// All other hosts have the same name in both, or are in one of them only.
using RenamedHosts = std::map<std::string, std::string>;

RenamedHosts renamed_hosts(const Topology& before, const Topology& after);

// The name of the host in the later topology: itself unless it was renamed.
const std::string& name_after(const RenamedHosts& renamed, const std::string& name);

}  // namespace railweave::fabric
