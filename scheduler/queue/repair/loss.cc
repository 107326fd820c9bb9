#include "scheduler/queue/repair/loss.h"

#include <algorithm>

namespace railweave::scheduler {

using fabric::GpuId;

std::vector<GpuId> lost_gpus(const PlacementFabric& fabric, const Loss& loss) {
  const auto& topology = fabric.topology();
  std::vector<GpuId> lost = loss.gpus;
  for (const auto host : loss.hosts) {
    for (const GpuId gpu : topology.gpus(host)) lost.push_back(gpu);
  }
  if (!loss.hcas.empty() || !loss.links.empty()) {
    const auto usable = [&](const GpuNic& nic) {
      return std::ranges::find(loss.hcas, nic.hca) == loss.hcas.end() &&
             std::ranges::find(loss.links, topology.link(nic.port)) == loss.links.end();
    };
    for (const GpuId gpu : topology.gpus()) {
      const auto nics = fabric.gpu_nics().nics(gpu);
      if (!nics.empty() && std::ranges::none_of(nics, usable)) lost.push_back(gpu);
    }
  }
  std::ranges::sort(lost);
  const auto repeated = std::ranges::unique(lost);
  lost.erase(repeated.begin(), repeated.end());
  return lost;
}

}  // namespace railweave::scheduler
