#include "fabric/generate/global_links.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "fabric/base/check.h"

namespace railweave::fabric {

Result<std::uint32_t> plan_groups(std::uint32_t given, const GlobalPorts& ports, std::uint32_t hosts_per_group,
                                  HostsSpec& hosts) {
  const std::uint64_t max_groups = std::uint64_t{ports.switches_per_group} * ports.links_per_switch + 1;
  std::uint64_t groups = given;
  if (groups == 0) groups = hosts.hosts == 0 ? max_groups : (hosts.hosts + hosts_per_group - 1) / hosts_per_group;
  if (groups > max_groups) {
    return fail(ErrorKind::impossible, "generate.impossible",
                fmt::format("{} groups are not possible: a group has only {} links to others", groups, max_groups - 1),
                {}, fmt::format("use larger groups, more global links per switch or at most {} groups", max_groups));
  }
  const std::uint64_t capacity = groups * hosts_per_group;
  if (hosts.hosts > capacity) {
    return fail(ErrorKind::impossible, "generate.impossible",
                fmt::format("{} hosts do not fit in a dragonfly of {}", hosts.hosts, capacity), {},
                "use more groups, or more hosts per switch");
  }
  if (hosts.hosts == 0) hosts.hosts = static_cast<std::uint32_t>(std::min<std::uint64_t>(capacity, UINT32_MAX));
  return static_cast<std::uint32_t>(groups);
}

void join_groups(const GlobalPorts& ports, const std::vector<SwitchDraft>& switches, NetworkDraft& network) {
  RAILWEAVE_CHECK(switches.size() == std::size_t{ports.groups} * ports.switches_per_group, "all switches are given");
  if (ports.groups < 2) return;
  const std::uint32_t others = ports.groups - 1;
  const std::uint32_t per_pair = ports.switches_per_group * ports.links_per_switch / others;
  const auto place = [&](std::uint32_t group, std::uint32_t link) {
    return switches[std::size_t{group} * ports.switches_per_group + link / ports.links_per_switch];
  };
  const auto port = [&](std::uint32_t link) { return ports.first_port + link % ports.links_per_switch; };
  for (std::uint32_t a = 0; a < ports.groups; ++a) {
    for (std::uint32_t b = a + 1; b < ports.groups; ++b) {
      for (std::uint32_t k = 0; k < per_pair; ++k) {
        const std::uint32_t from = k * others + (b - a - 1);
        const std::uint32_t to = k * others + (a + ports.groups - b - 1);
        network.join(place(a, from), port(from), place(b, to), port(to));
      }
    }
  }
}

}  // namespace railweave::fabric
