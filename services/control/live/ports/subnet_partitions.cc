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

SubnetPartitions partitions_of(const ClusterState& state, const HostJobs& jobs, SubnetId subnet,
                               const std::vector<PortId>& managers) {
  SubnetPartitions partitions;
  std::map<std::string, std::size_t, std::less<>> place_of;
  for (const auto& [tenant, contract] : *state.contracts) {
    place_of.emplace(tenant, partitions.tenants.size());
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
    bool is_full =
        place_of.empty() || !host || t.gpus(host).empty() || std::ranges::find(managers, port) != managers.end();
    if (host) {
      for (const JobPtr& job : jobs.on(host)) {
        const auto at = place_of.find(job->spec.tenant);
        if (at == place_of.end()) {
          is_full = true;
        } else if (auto& members = partitions.tenants[at->second].members; members.empty() || members.back() != port) {
          members.push_back(port);
        }
      }
    }
    if (is_full) partitions.full_members.push_back(port);
  }
  return partitions;
}

}  // namespace railweave::control
