// The adapter ports that each GPU sends through, as plain columns, so that predictions do not depend on placement.
// placement/fit/gpu_nics.h decides which ports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::scheduler {

struct GpuPorts {
  std::vector<std::uint32_t> first{0};  // by GpuId, and the end
  std::vector<fabric::PortId> ports;    // nearest first; cabled

  [[nodiscard]] std::span<const fabric::PortId> of(fabric::GpuId gpu) const {
    return std::span(ports).subspan(first[gpu.index()], first[gpu.index() + 1] - first[gpu.index()]);
  }
};

// By what the topology says of affinity alone: the cabled ports of the nearest adapter; a host without known affinity
// deals its adapters evenly over its GPUs.
GpuPorts nearest_ports(const fabric::Topology& topology);

}  // namespace railweave::scheduler
