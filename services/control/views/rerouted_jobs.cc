#include "services/control/views/rerouted_jobs.h"

#include <algorithm>
#include <cstddef>

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
    const auto& a = before.plane(id);
    const auto& b = after.plane(id);
    const std::size_t first = before.scope().plane(id).first_destination;
    for (std::size_t s = 0; s < a.switches(); ++s) {
      const auto entries_before = entries_;
      for (std::size_t tile = 0; tile < a.tiles_per_row(); ++tile) {
        if (a.shares_tile(b, s, tile)) continue;
        const std::size_t begin = tile * a.tile_entries();
        const std::size_t end = std::min(begin + a.tile_entries(), a.destinations());
        for (std::size_t d = begin; d < end; ++d) {
          if (a.at(s, d) == b.at(s, d)) continue;
          destinations_[first + d] = true;
          ++entries_;
        }
      }
      switches_ += entries_ != entries_before ? 1 : 0;
    }
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
