// Small random fabrics of partly full hosts with leaf groups, pods and NVLink domains of all kinds, and jobs for them:
// what placements are held to the best there are on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planned_fabric.h"
#include "scheduler/collective/traffic.h"
#include "scheduler/placement/placer.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::scheduler::testing_support {

// Hosts of one network: a leaf for each rail of a leaf group, a spine for each pod, a core above several pods.
struct CabledPlan {
  struct Host {
    std::vector<int> domain_of_gpu;  // -1: no NVLink
    std::uint32_t leaf_group = 0;    // consecutive
    std::uint32_t pod = 0;
  };
  std::vector<Host> hosts;
  unsigned leaf_uplinks = 1, pod_uplinks = 1;
  [[nodiscard]] PlacementFabricPtr build() const;
};

// Domains: 0 the host, 1 its half, 2 pairs of hosts, 3 pairs and single hosts beside each other.
CabledPlan random_cabled(Random& random, std::size_t hosts, unsigned gpus, unsigned domains);

struct SmallCase {
  PlacementFabricPtr fabric;
  Allocations allocations;
  std::vector<fabric::GpuId> free;
};
// Each GPU is taken with probability `fill`, and further ones until at most `most_free` are left.
SmallCase partly_full(Random& random, PlacementFabricPtr fabric, double fill, std::size_t most_free);

// One to `most`, each of some of the hosts, which are liked or avoided.
std::vector<NodePreference> random_preferences(Random& random, std::size_t hosts, std::size_t most);

// Traffic of every group that it has, in all proportions.
JobSpec with_random_traffic(Random& random, Parallelism parallelism);

// What a placement costs by the model that the placer has, asked without the placer.
class Ruler {
 public:
  Ruler(const PlacementFabric& fabric, const JobSpec& spec);
  double operator()(std::span<const fabric::GpuId> gpu_of_rank);

 private:
  const PlacementFabric& fabric_;
  Parallelism parallelism_;
  TrafficSpec traffic_;
  PlacementCostModel model_;
};

std::string text_of(const PlacementFabric& fabric, std::span<const fabric::GpuId> gpu_of_rank);
std::string text_of(const Parallelism& parallelism);

}  // namespace railweave::scheduler::testing_support
