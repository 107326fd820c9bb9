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

// How many groups to build: as asked for, for the hosts given, or the most there can be. Sets the hosts where none are
// given.
Result<std::uint32_t> plan_groups(std::uint32_t asked, const GlobalPorts& ports, std::uint32_t hosts_per_group,
                                  HostsSpec& hosts);

// Group i's link number k * (groups - 1) + d goes to group i + d + 1 (modulo groups): every pair of groups gets the
// same number of links, spread over the switches of both.
void join_groups(const GlobalPorts& ports, const std::vector<SwitchDraft>& switches, NetworkDraft& network);

}  // namespace railweave::fabric
