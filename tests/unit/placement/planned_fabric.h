// Fabrics for tests, written down host by host: GPUs, the NVLink domain of each, and the group of every level.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology/topology_builder.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler::testing_support {

struct PlannedHost {
  std::vector<int> domain_of_gpu;     // one per GPU; -1: no NVLink
  std::vector<std::uint32_t> groups;  // of each level of PlannedFabric::levels
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<unsigned> rail_of_nic;               // a cabled adapter each
  std::vector<std::vector<unsigned>> nics_of_gpu;  // indices of adapters, nearest first; empty: affinity not known
};

struct PlannedFabric {
  std::vector<fabric::LevelKind> levels;  // above the host
  std::vector<PlannedHost> hosts;         // "node-0", "node-1"...
  bool rails_apart = false;               // each rail a network of its own; else a spine joins their leaves

  [[nodiscard]] PlacementFabricPtr build() const;
  [[nodiscard]] std::size_t gpus() const;
};

// `hosts` hosts of `gpus` GPUs, one NVLink domain each; consecutive hosts grouped by `sizes` (hosts per group), the
// last level being the cluster.
PlannedFabric regular_fabric(std::size_t hosts, unsigned gpus,
                             const std::vector<std::pair<fabric::LevelKind, unsigned>>& sizes);

using Random = std::mt19937_64;
inline std::uint64_t below(Random& random, std::uint64_t bound) { return random() % bound; }

// A random fabric: up to `most_hosts` hosts of up to `most_gpus` GPUs, irregular groups on up to four levels, domains
// of a part of a host, of a host, of several hosts or none.
PlannedFabric random_fabric(Random& random, std::size_t most_hosts, unsigned most_gpus);

// Each GPU taken with probability `fill`; some hosts unavailable.
Allocations random_allocations(Random& random, const PlacementFabric& fabric, double fill);

}  // namespace railweave::scheduler::testing_support
