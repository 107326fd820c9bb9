// Which ranks of a job can send to each other at all, whatever the routes are: over live cables and the links between sites
// that are in use, directly or through a GPU of the same host or NVLink domain. Used by repair and by the guarantee book, so
// that both call the same jobs damaged. Constant after construction but for the jobs noted as whole; not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "fabric/topology/joined_switches.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/control/state/job_table.h"

namespace railweave::control {

class RankReach {
 public:
  // O(links).
  RankReach(const fabric::FabricView& view, scheduler::PlacementFabricPtr fabric);

  // The GPUs that have no live cable, and those in hosts and NVLink domains that cannot send to all others: all but the
  // largest part. Ascending. Empty: every rank reaches every other. O(GPUs).
  [[nodiscard]] std::vector<fabric::GpuId> cut_off(std::span<const fabric::GpuId> gpu_of_rank) const;

  // The jobs that hold GPUs, without those that have not changed since they were noted as whole. Ascending. O(changes).
  [[nodiscard]] std::vector<JobPtr> to_look_at(const JobTable& jobs);
  void note_whole(JobId id) { open_.erase(id.number()); }

 private:
  using Parts = std::vector<std::uint32_t>;  // ascending

  // The ranks of one site that reach each other.
  struct SiteRanks {
    std::uint32_t site = 0;
    std::vector<const Parts*> parts;
    std::vector<fabric::GpuId> gpus;
  };

  void add_parts(fabric::GpuId gpu, Parts& parts) const;
  void add_apart(std::vector<SiteRanks> sites, std::vector<fabric::GpuId>& lost) const;

  fabric::FabricView view_;
  scheduler::PlacementFabricPtr fabric_;
  mutable fabric::DisjointSets joined_;  // switches, by links that carry transit
  JobTable seen_;                        // of the last to_look_at()
  std::set<std::uint64_t> open_;         // numbers of its jobs that hold GPUs and are not noted as whole
};

}  // namespace railweave::control
