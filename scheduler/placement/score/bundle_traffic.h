// What placed jobs send over each bundle of a fabric, and the residual capacity: kept up to date job by job, so that
// candidates are scored beside the traffic of other jobs at no extra cost (Placer::set_residual). One per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/collective/link_senders.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::scheduler {

class BundleTraffic {
 public:
  explicit BundleTraffic(PlacementFabricPtr fabric);

  // Where jobs' peers are, for jobs that are asked about or added from now on; until then nothing is sent to them.
  void set_peers(PeerGpus peers) { peers_ = std::move(peers); }
  // Mb/s by bundle of the links that are up; until then all are. O(bundles).
  void set_capacities(std::vector<double> bundle_mbps);

  // The load of a job on bundles, as if it were alone on the whole fabric, and how long its step then takes.
  struct Load {
    LinkTraffic traffic;
    double period_us = 0;
  };
  [[nodiscard]] Load load_of(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

  void add(std::uint64_t job, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);
  void remove(std::uint64_t job);

  [[nodiscard]] const LinkSenders& senders() const { return senders_; }
  [[nodiscard]] const std::vector<double>& capacities_mbps() const { return capacity_mbps_; }
  // Residual capacity for one more job, by bundle; infinite where no job sends. Always the same object: its values
  // change.
  [[nodiscard]] const std::shared_ptr<std::vector<double>>& residual_mbps() const { return residual_mbps_; }

 private:
  void refresh(std::span<const std::uint32_t> bundles);

  PlacementFabricPtr fabric_;
  PeerGpus peers_;
  LinkSenders senders_;
  std::vector<double> capacity_mbps_;
  std::shared_ptr<std::vector<double>> residual_mbps_;
  std::vector<std::pair<const GpuGeneration*, std::unique_ptr<PlacementCostModel>>> models_;
};

}  // namespace railweave::scheduler
