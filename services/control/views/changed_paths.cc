#include "services/control/views/changed_paths.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "fabric/routing/plane/table_differences.h"

namespace railweave::control {

using fabric::DestinationId;
using fabric::HostId;
using fabric::PortId;
using fabric::SwitchId;

std::set<HostId> hosts_of(const fabric::Topology& topology, const Job& job) {
  std::set<HostId> hosts;
  for (const auto gpu : job.placement.gpu_of_rank) hosts.insert(topology.host(gpu));
  return hosts;
}

ChangedPaths::ChangedPaths(const fabric::ForwardingTables& before, const fabric::ForwardingTables& after)
    : before_(before), after_(after), destinations_(before.scope().destinations().size()) {
  for (const auto id : before.scope().planes()) {
    if (before.shares_plane(after, id)) continue;
    const std::size_t first = before.scope().plane(id).first_destination;
    std::optional<std::uint32_t> last;  // differences come by switch
    fabric::for_each_difference(before.plane(id), after.plane(id), [&](const fabric::TableDifference& entry) {
      destinations_[first + entry.destination] = true;
      ++entries_;
      switches_ += last != entry.sw ? 1 : 0;
      last = entry.sw;
    });
  }
}

bool ChangedPaths::meets_change(SwitchId from, DestinationId to) const {
  const auto& scope = before_.scope();
  const auto& topology = scope.topology();
  SwitchId at = from;
  for (std::size_t hops = 0; hops <= topology.switches().size() && at; ++hops) {
    const auto port = before_.out_port(at, to);
    if (port != after_.out_port(at, to)) return true;
    if (at == scope.destination(to).home || port == fabric::kNoPort || port == fabric::kPortZero) return false;
    const auto ports = topology.ports(at);
    if (port > ports.size()) return false;
    const PortId peer = topology.peer(ports[port - 1]);
    at = peer ? topology.switch_of(peer) : SwitchId();
  }
  return false;
}

bool ChangedPaths::concern(const std::set<HostId>& hosts) const {
  if (hosts.size() < 2) return false;
  const auto& scope = before_.scope();
  const auto& topology = scope.topology();
  std::set<SwitchId> sources;
  std::vector<DestinationId> targets;
  for (const HostId host : hosts) {
    for (const auto hca : topology.hcas(host)) {
      for (const PortId port : topology.ports(hca)) {
        const auto destination = scope.find(port);
        if (!destination) continue;
        sources.insert(scope.destination(destination).home);
        if (destinations_[destination.index()]) targets.push_back(destination);
      }
    }
  }
  return std::ranges::any_of(targets, [&](DestinationId to) {
    return std::ranges::any_of(
        sources, [&](SwitchId from) { return scope.plane_of(from) == scope.plane_of(to) && meets_change(from, to); });
  });
}

}  // namespace railweave::control
