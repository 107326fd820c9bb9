// The links that a flow between two GPUs crosses, with their capacities: the interface between collectives and
// networks. Two implementations: RoutedPaths follows forwarding tables, or hashes, cable by cable; BundledPaths (fabric_bundles.h)
// counts the uplinks of a leaf or pod as one bundle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "fabric/flow/pair_paths.h"
#include "scheduler/collective/gpu_ports.h"
#include "scheduler/collective/latency.h"

namespace railweave::scheduler {

class PathModel {
 public:
  virtual ~PathModel() = default;
  [[nodiscard]] virtual std::span<const double> capacity_mbps() const = 0;  // by link

  // Append the links from one GPU to another, and say what the path is made of; false: there is none. Empty for a GPU
  // and itself and for two of one host that share no NVLink domain: they meet inside it (PCIe), which has no capacity
  // here.
  virtual bool append(fabric::GpuId from, fabric::GpuId to, std::vector<std::uint32_t>& links,
                      PathShape& shape) const = 0;
  // Only the link into the network or NVLink domain, or out of it: where switches reduce. `inside`: NVLink.
  virtual bool append_end(fabric::GpuId gpu, bool outward, bool inside, std::vector<std::uint32_t>& links) const = 0;
};

// By DirectedLink. Borrows all arguments. Two GPUs talk over the first pair of ports that are on one rail, else their
// nearest ones.
class RoutedPaths final : public PathModel {
 public:
  RoutedPaths(const fabric::Topology& topology, const fabric::PairPaths& of_pairs, const GpuPorts& ports,
              std::span<const double> capacity_mbps)
      : topology_(&topology), of_pairs_(&of_pairs), ports_(&ports), capacity_(capacity_mbps) {}

  [[nodiscard]] std::span<const double> capacity_mbps() const override { return capacity_; }
  bool append(fabric::GpuId from, fabric::GpuId to, std::vector<std::uint32_t>& links, PathShape& shape) const override;
  bool append_end(fabric::GpuId gpu, bool outward, bool inside, std::vector<std::uint32_t>& links) const override;

 private:
  const fabric::Topology* topology_;
  const fabric::PairPaths* of_pairs_;
  const GpuPorts* ports_;
  std::span<const double> capacity_;
};

}  // namespace railweave::scheduler
