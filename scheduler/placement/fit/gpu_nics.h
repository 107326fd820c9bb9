// The adapter ports that each GPU sends through (collective/gpu_ports.h) with their adapters and rails, and the GPUs of a
// host in order of rails. Where adapters were dealt for want of known affinity, the answer is marked as assumed.
// Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology/topology.h"
#include "scheduler/collective/gpu_ports.h"

namespace railweave::scheduler {

struct GpuNic {
  fabric::HcaId hca;
  fabric::PortId port;
  fabric::RailId rail;  // none: the port is on no rail
};

class GpuNics {
 public:
  GpuNics(const fabric::Topology& topology, const GpuPorts& ports);  // ports: gpu_ports(topology)

  [[nodiscard]] std::span<const GpuNic> nics(fabric::GpuId gpu) const {
    return std::span(nics_).subspan(first_[gpu.index()], first_[gpu.index() + 1] - first_[gpu.index()]);
  }
  // Rail of the nearest adapter; none where it has none or is on no rail.
  [[nodiscard]] fabric::RailId rail(fabric::GpuId gpu) const { return rail_[gpu.index()]; }
  // Local GPU indices of a host by rail, then by index: equal positions of two hosts are on the same rail where they
  // can be.
  [[nodiscard]] std::span<const std::uint8_t> by_rail(fabric::HostId host) const {
    return std::span(by_rail_).subspan(host_first_gpu_[host.index()],
                                       host_first_gpu_[host.index() + 1] - host_first_gpu_[host.index()]);
  }
  // It has adapters, but no port of them has a cable, though other GPUs of the fabric are cabled.
  [[nodiscard]] bool uncabled(fabric::GpuId gpu) const { return uncabled_[gpu.index()] != 0; }
  [[nodiscard]] bool assumed(fabric::HostId host) const { return assumed_[host.index()] != 0; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<GpuNic> nics_;
  std::vector<fabric::RailId> rail_;
  std::vector<std::uint8_t> assumed_, uncabled_;
  std::vector<std::uint32_t> host_first_gpu_;
  std::vector<std::uint8_t> by_rail_;
};

}  // namespace railweave::scheduler
