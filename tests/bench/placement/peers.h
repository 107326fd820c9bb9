// Other placement algorithms on the same fabric: first-fit in order of hosts, and BestFit that counts every node for
// every decision, as Kueue's topology-aware scheduling does. Jobs of whole tensor groups (at most a host's GPUs), no
// other preferences.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler::bench {

class Peer {
 public:
  explicit Peer(const PlacementFabric& fabric);
  virtual ~Peer() = default;

  // GPUs, or none where it does not fit.
  [[nodiscard]] virtual std::vector<fabric::GpuId> place(std::uint32_t block, std::uint64_t blocks) = 0;
  void take(const std::vector<fabric::GpuId>& gpus);
  void release(const std::vector<fabric::GpuId>& gpus);

 protected:
  void give(LeafIndex leaf, std::uint32_t count, std::vector<fabric::GpuId>& gpus) const;
  const PlacementFabric& fabric_;
  const Hierarchy& hierarchy_;
  std::vector<std::uint64_t> free_;  // by leaf
};

class FirstFit : public Peer {
 public:
  using Peer::Peer;
  [[nodiscard]] std::vector<fabric::GpuId> place(std::uint32_t block, std::uint64_t blocks) override;
};

class CountingBestFit : public Peer {
 public:
  explicit CountingBestFit(const PlacementFabric& fabric);
  [[nodiscard]] std::vector<fabric::GpuId> place(std::uint32_t block, std::uint64_t blocks) override;

 private:
  struct Group {
    std::uint32_t blocks;
    GroupIndex number;
  };
  std::vector<std::vector<std::uint32_t>> blocks_;  // by level and group
};

}  // namespace railweave::scheduler::bench
