#include "scheduler/placement/fit/gpu_nics.h"

#include <algorithm>
#include <tuple>

namespace railweave::scheduler {

GpuNics::GpuNics(const fabric::Topology& topology, const GpuPorts& ports)
    : first_(ports.first), assumed_(ports.assumed) {
  for (const fabric::PortId port : ports.ports) nics_.push_back({topology.hca_of(port), port, topology.rail(port)});
  host_first_gpu_.push_back(0);
  for (const fabric::HostId host : topology.hosts()) {
    const auto gpus = topology.gpus(host);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto own = nics(gpus[i]);
      const bool has_adapters =
          assumed_[host.index()] != 0 ? !topology.hcas(host).empty() : !topology.nics(gpus[i]).empty();
      uncabled_.push_back(has_adapters && own.empty() ? 1 : 0);
      rail_.push_back(own.empty() ? fabric::RailId() : own.front().rail);
      by_rail_.push_back(static_cast<std::uint8_t>(i));
    }
    host_first_gpu_.push_back(static_cast<std::uint32_t>(by_rail_.size()));
    const auto locals = std::span(by_rail_).last(gpus.size());
    // RailId::kNone is the largest value: GPUs on no rail come last.
    std::ranges::sort(locals, {}, [&](std::uint8_t i) { return std::tuple(rail_[gpus[i].index()], i); });
  }
  if (nics_.empty()) std::ranges::fill(uncabled_, 0);  // no network was imported
}

}  // namespace railweave::scheduler
