#include "services/control/live/ports/subnet_partitions.h"

#include <algorithm>
#include <map>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

std::uint8_t default_class(const QosClasses& classes, const scheduler::Contract& contract) {
  const auto found = std::ranges::find_if(classes, [&](const QosClass& one) {
    return contract.classes.empty() ? one.bound == ClassBound::bandwidth : one.name == contract.classes.front();
  });
  return found == classes.end() ? std::uint8_t{0} : static_cast<std::uint8_t>(found - classes.begin());
}

SubnetPartitions partitions_of(const ClusterState& state, SubnetId subnet, const std::vector<PortId>& managers) {
  SubnetPartitions partitions;
  std::map<std::uint16_t, std::size_t> place_of;  // by key
  for (const auto& [tenant, contract] : *state.contracts) {
    place_of.emplace(contract.pkey, partitions.tenants.size());
    partitions.tenants.push_back({.tenant = tenant,
                                  .pkey = contract.pkey,
                                  .members = {},
                                  .limited = {},
                                  .qos_class = default_class(*state.qos_classes, contract.terms),
                                  .limit = contract.terms.basis == scheduler::RateBasis::per_port
                                               ? contract.terms.most
                                               : std::optional<RateMbps>()});
  }
  const Topology& t = state.topology();
  for (const PortId port : t.hca_ports()) {
    const PortId peer = t.peer(port);
    if (!peer || !t.is_switch_port(peer) || t.subnet(t.switch_of(peer)) != subnet) continue;
    const HostId host = t.host(t.hca_of(port));
    if (!host) continue;
    const HostKeys& keys = state.host_keys[host.index()];
    for (std::size_t i = 0; i < keys.slots.size(); ++i) {
      const auto at = place_of.find(keys.slots[i].pkey);
      if (at == place_of.end()) continue;
      partitions.tenants[at->second].members.push_back({port, static_cast<std::uint16_t>(i + 1)});
    }
    if (keys.limited && std::ranges::find(managers, port) == managers.end()) partitions.limited.push_back(port);
  }
  std::ranges::sort(partitions.limited);
  return partitions;
}

}  // namespace railweave::control
