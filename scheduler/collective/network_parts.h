// Which connected parts of the network each GPU has ports in: two GPUs can talk directly only where they share one. In a
// fabric whose rails are networks of their own each rail is a part. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/topology/fabric_view.h"
#include "scheduler/collective/gpu_ports.h"

namespace railweave::scheduler {

class NetworkParts {
 public:
  // Every link up; or over the links of a view that are neither down nor drained. O(links + ports).
  NetworkParts(const fabric::Topology& topology, const GpuPorts& ports);
  NetworkParts(const fabric::FabricView& view, const GpuPorts& ports);

  // Ascending, each once. Empty: none of the GPU's links is in use.
  [[nodiscard]] std::span<const std::uint32_t> of(fabric::GpuId gpu) const {
    return std::span(parts_).subspan(first_[gpu.index()], first_[gpu.index() + 1] - first_[gpu.index()]);
  }
  // Every GPU is in one and the same part, or the fabric knows no network at all: nothing to check.
  [[nodiscard]] bool all_alike() const { return all_alike_; }
  // Parts of any GPU, ascending.
  [[nodiscard]] std::span<const std::uint32_t> all() const { return all_; }
  friend bool operator==(const NetworkParts&, const NetworkParts&) = default;

 private:
  template <class InUse>
  void fill(const fabric::Topology& topology, const GpuPorts& ports, InUse in_use);

  std::vector<std::uint32_t> first_{0};  // by GPU, and the end
  std::vector<std::uint32_t> parts_;
  std::vector<std::uint32_t> all_;
  bool all_alike_ = true;
};

}  // namespace railweave::scheduler
