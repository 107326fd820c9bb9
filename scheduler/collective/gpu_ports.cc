#include "scheduler/collective/gpu_ports.h"

#include <algorithm>

namespace railweave::scheduler {

GpuPorts nearest_ports(const fabric::Topology& topology) {
  GpuPorts result;
  for (const fabric::HostId host : topology.hosts()) {
    std::vector<fabric::HcaId> cabled;
    for (const fabric::HcaId hca : topology.hcas(host)) {
      const bool joined =
          std::ranges::any_of(topology.ports(hca), [&](auto port) { return topology.peer(port).valid(); });
      if (joined && topology.kind(hca) == fabric::HcaKind::host) cabled.push_back(hca);
    }
    const auto gpus = topology.gpus(host);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto near = topology.nics(gpus[i]);
      fabric::HcaId hca;
      if (!near.empty()) {
        hca = near.front();
      } else if (!cabled.empty()) {
        hca = cabled[i * cabled.size() / gpus.size()];
      }
      if (hca) {
        for (const fabric::PortId port : topology.ports(hca)) {
          if (topology.peer(port)) result.ports.push_back(port);
        }
      }
      result.first.push_back(static_cast<std::uint32_t>(result.ports.size()));
    }
  }
  return result;
}

}  // namespace railweave::scheduler
