#include "fabric/topology/host_match.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace railweave::fabric {

RenamedHosts renamed_hosts(const Topology& before, const Topology& after) {
  std::unordered_map<std::uint64_t, HostId> by_guid;
  for (const HcaId hca : after.hcas()) {
    if (after.guid(hca).known() && after.host(hca)) by_guid.emplace(after.guid(hca).value(), after.host(hca));
  }
  // By GUID first: a host that has an adapter of before is that host, whatever either is called.
  std::vector<HostId> became(before.hosts().size());
  std::vector<HostId> was(after.hosts().size());
  for (const HostId host : before.hosts()) {
    std::map<HostId, unsigned> votes;
    for (const HcaId hca : before.hcas(host)) {
      const auto at = before.guid(hca).known() ? by_guid.find(before.guid(hca).value()) : by_guid.end();
      if (at != by_guid.end()) ++votes[at->second];
    }
    std::pair<unsigned, HostId> most{0, HostId()};
    for (const auto& [candidate, count] : votes) {
      const bool same_name = after.name(candidate) == before.name(host);
      if (!was[candidate.index()] && (count > most.first || (count == most.first && same_name)))
        most = {count, candidate};
    }
    if (!most.second) continue;
    became[host.index()] = most.second;
    was[most.second.index()] = host;
  }
  RenamedHosts renamed;
  for (const HostId host : before.hosts()) {
    const std::string name(before.name(host));
    if (became[host.index()]) {
      if (after.name(became[host.index()]) != name) renamed.emplace(name, after.name(became[host.index()]));
      continue;
    }
    const HostId same_name = after.find_host(name);
    if (same_name && was[same_name.index()]) renamed.emplace(name, "");
  }
  return renamed;
}

const std::string& name_after(const RenamedHosts& renamed, const std::string& name) {
  const auto at = renamed.find(name);
  return at == renamed.end() ? name : at->second;
}

}  // namespace railweave::fabric
