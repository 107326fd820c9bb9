// The links between the groups of a dragonfly.
#pragma once

#include <vector>

#include "fabric/generate/network_draft.h"

namespace railweave::fabric {

// The switches of a dragonfly that have links to other groups, group by group.
struct GlobalPorts {
  std::uint32_t groups = 0;
  std::uint32_t switches_per_group = 0;
  std::uint32_t links_per_switch = 0;
  std::uint32_t first_port = 0;  // of every switch
};

// The number of groups to build: the one given, else enough for the hosts given, else the maximum. Sets the number of
// hosts if it is 0.
Result<std::uint32_t> plan_groups(std::uint32_t given, const GlobalPorts& ports, std::uint32_t hosts_per_group,
                                  HostsSpec& hosts);

// Group i's link number k * (groups - 1) + d goes to group i + d + 1 (modulo groups): every pair of groups gets the
// same number of links, spread over the switches of both.
void join_groups(const GlobalPorts& ports, const std::vector<SwitchDraft>& switches, NetworkDraft& network);

}  // namespace railweave::fabric
