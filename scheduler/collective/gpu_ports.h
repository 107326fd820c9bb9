// Which adapter ports each GPU sends through: the one definition that predictions, routes, guarantees and rank maps share.
//
// A GPU sends over the cabled ports of its nearest adapters, by the affinity that the fabric's source states
// (Topology::nics), never by equal numbers. Where GPUs of a host list an adapter at different places, those that list it
// first send over it: a list of all adapters of a host, nearest first, says which one is whose. Where no affinity is
// stated, the host's adapters are dealt evenly over its GPUs in order of rails, the rails that the host lacks included,
// so that its GPUs stay on the rails of their peers. A GPU that is left without an adapter shares that of its neighbour.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::scheduler {

struct GpuPorts {
  std::vector<std::uint32_t> first{0};  // by GpuId, and the end
  std::vector<fabric::PortId> ports;    // nearest first; cabled
  std::vector<std::uint8_t> assumed;    // by HostId: no affinity is known, adapters are dealt

  [[nodiscard]] std::span<const fabric::PortId> of(fabric::GpuId gpu) const {
    return std::span(ports).subspan(first[gpu.index()], first[gpu.index() + 1] - first[gpu.index()]);
  }
};

// A GPU with ports on rails of compute (or unknown) subnets uses those alone; another one what it has. O(GPUs + adapter
// ports), and what hosts_short_of_rail() takes where adapters are dealt.
GpuPorts gpu_ports(const fabric::Topology& topology);

}  // namespace railweave::scheduler
