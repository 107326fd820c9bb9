// Whether the ranks of a job that exchange data have a route to each other: over links and switches that are neither
// down nor drained, over long-haul links between sites, and through a neighbour in the same NVLink domain (NCCL's PXN).
// A view of one state; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/reachable_parts.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

class JobReach {
 public:
  explicit JobReach(const ClusterState& state);
  // In another view of the state's topology.
  JobReach(const ClusterState& state, fabric::FabricView view);
  JobReach(const JobReach&) = delete;  // its parts refer to its view
  JobReach& operator=(const JobReach&) = delete;

  // Why ranks on these GPUs cannot exchange what their groups exchange: "no route from rank 3 (node-1, GPU 3) to ...".
  // None: they can. GPUs of which no adapter is known are taken to reach everything.
  [[nodiscard]] std::optional<std::string> cut_off(const scheduler::JobSpec& spec,
                                                   std::span<const fabric::GpuId> gpu_of_rank) const;
  // GPUs that other ranks send to and cannot reach: on cables and links that are in use, and by the tables where some are
  // given. Those alike that are most stay out of it, if all flows that are cut then have an end in it. Ascending.
  // Of jobs with many flows (kMaxFlowsWalked) only what is in another part of the network is found.
  [[nodiscard]] std::vector<fabric::GpuId> unreached(const scheduler::JobSpec& spec,
                                                     std::span<const fabric::GpuId> gpu_of_rank,
                                                     const FabricRoutes* tables) const;
  [[nodiscard]] std::uint64_t view_version() const { return view_version_; }

 private:
  struct JobParts;
  [[nodiscard]] JobParts parts_of_job(std::span<const fabric::GpuId> gpu_of_rank) const;
  [[nodiscard]] bool reaches(const JobParts& parts, fabric::GpuId from, fabric::GpuId to) const;
  [[nodiscard]] bool in_one_part(std::span<const fabric::GpuId> gpu_of_rank) const;
  [[nodiscard]] std::vector<std::uint32_t> parts_of(fabric::GpuId gpu) const;  // ascending
  [[nodiscard]] bool same_site_or_joined(fabric::GpuId a, fabric::GpuId b) const;

  scheduler::PlacementFabricPtr fabric_;
  fabric::FabricView view_;
  ReachableParts parts_;
  std::uint64_t view_version_;
};

}  // namespace railweave::control
