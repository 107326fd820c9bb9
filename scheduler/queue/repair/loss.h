// Which GPUs are of no use after hosts, GPUs, adapters or links failed.
#pragma once

#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

struct Loss {
  std::vector<fabric::HostId> hosts;
  std::vector<fabric::GpuId> gpus;
  std::vector<fabric::HcaId> hcas;
  std::vector<fabric::LinkId> links;
};
// Lost GPUs, the GPUs of lost hosts, and those all of whose adapters are lost or have lost their link. Ascending.
std::vector<fabric::GpuId> lost_gpus(const PlacementFabric& fabric, const Loss& loss);

}  // namespace railweave::scheduler
