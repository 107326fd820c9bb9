#include "services/railweave/assess/headroom.h"

#include <map>

namespace railweave::cli {

std::vector<GroupRoom> headroom(const fabric::Topology& topology, const fabric::Locality& locality) {
  const fabric::Topology& t = topology;
  const fabric::Level* groups = locality.find(fabric::LevelKind::leaf_group);
  if (groups == nullptr) return {};
  std::vector<GroupRoom> rooms(groups->group_count);
  for (std::uint32_t g = 0; g < groups->group_count; ++g) rooms[g].group = groups->group_names[g];
  // A leaf is of the group that most of its host links go to.
  std::map<fabric::SwitchId, std::map<std::uint32_t, std::size_t>> hosts_of_leaf;
  for (const fabric::HostId host : t.hosts()) {
    if (t.kind(host) != fabric::HostKind::compute) continue;
    GroupRoom& room = rooms[groups->group_of_host[host.index()]];
    ++room.hosts;
    for (const fabric::HcaId hca : t.hcas(host)) {
      for (const fabric::PortId port : t.ports(hca)) {
        const fabric::SwitchId leaf = t.peer(port) ? t.switch_of(t.peer(port)) : fabric::SwitchId();
        if (!leaf) continue;
        room.host_gbps += t.rate(t.link(port)).gbps();
        ++hosts_of_leaf[leaf][groups->group_of_host[host.index()]];
      }
    }
  }
  for (const auto& [leaf, counts] : hosts_of_leaf) {
    const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    for (const fabric::PortId port : t.ports(leaf)) {
      const fabric::SwitchId up = t.peer(port) ? t.switch_of(t.peer(port)) : fabric::SwitchId();
      if (up && t.tier(up) > t.tier(leaf)) rooms[most->first].uplink_gbps += t.rate(t.link(port)).gbps();
    }
  }
  std::erase_if(rooms, [](const GroupRoom& room) { return room.hosts == 0 || room.host_gbps == 0; });
  std::ranges::stable_sort(rooms, {}, &GroupRoom::share);
  return rooms;
}

}  // namespace railweave::cli
