// A placer for the state that it is asked about. Used by the control thread and by API workers, one cache per thread.
// The placer is rebuilt when the topology changed; else only the allocations that differ are synchronised, and, if a
// link or a guarantee changed, the residual capacities. Candidates are scored together with the traffic of placed jobs
// (scheduler/placement/score/bundle_traffic.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/job_reach.h"
#include "services/control/views/placed_jobs.h"
#include "services/control/views/rank_reach.h"

namespace railweave::control {

class PlacerCache {
 public:
  // Share the routing cache between threads: tables of large fabrics are large, and so are their failure coverages.
  explicit PlacerCache(std::shared_ptr<RoutingCache> routing = std::make_shared<RoutingCache>())
      : guarantees_(std::move(routing)) {}

  scheduler::Placer& at(const ClusterState& state);
  // What guarantees reserve; call bring_to() on it before reading.
  [[nodiscard]] GuaranteeBook& guarantees() { return guarantees_; }
  // Which ranks have routes to each other in the state; kept until its links change.
  const JobReach& reach(const ClusterState& state);
  // Which GPUs of a placed job are cut off from its others.
  RankReach& rank_reach(const ClusterState& state);
  // GPUs of a running job that its other ranks cannot reach: cut off as rank_reach() has it, or that packets of its flows do
  // not arrive at, by cables or by the tables in force. Drains do not count. Ascending.
  std::vector<fabric::GpuId> lost_gpus(const ClusterState& state, const Job& job);
  // Mb/s by bundle as last given to the placer: residual capacity beside guarantees.
  [[nodiscard]] const std::vector<double>& capacities_mbps() const { return capacities_mbps_; }
  [[nodiscard]] std::uint64_t capacities_version() const {
    return capacities_version_;
  }  // changes with capacities_mbps()
  // Mb/s by bundle of the links that are up; and the residual capacity beside the traffic of placed jobs, which changes
  // with every at().
  [[nodiscard]] const std::vector<double>& up_mbps() const { return up_mbps_; }
  // What the links that are up connect; changes with capacities_version() as well.
  [[nodiscard]] const std::shared_ptr<const scheduler::NetworkParts>& parts() const { return parts_; }
  [[nodiscard]] std::shared_ptr<const std::vector<double>> residual_mbps() const { return traffic_->residual_mbps(); }

 private:
  std::unique_ptr<scheduler::Placer> placer_;
  scheduler::PlacementFabricPtr fabric_;  // owned, so that no other fabric can reuse its address
  std::uint64_t view_version_ = 0;        // of the link states that the placer was given
  std::uint64_t reserved_version_ = 0;    // GuaranteeBook::version() that the placer was given; 0: no guarantees
  GuaranteeBook guarantees_;
  std::unique_ptr<const JobReach> reach_;
  scheduler::PlacementFabricPtr reach_fabric_;
  std::vector<double> capacities_mbps_, up_mbps_;  // by bundle
  std::shared_ptr<const scheduler::NetworkParts> parts_;
  std::uint64_t capacities_version_ = 0;
  std::unique_ptr<scheduler::BundleTraffic> traffic_;
  PlacedJobs placed_;                                              // the jobs in traffic_
  std::shared_ptr<JobTable> jobs_ = std::make_shared<JobTable>();  // of the state, for their peers
  std::unique_ptr<RankReach> rank_reach_;
  std::unique_ptr<const JobReach> running_reach_;  // made with rank_reach_
  scheduler::PlacementFabricPtr rank_reach_fabric_;
  std::uint64_t rank_reach_version_ = 0;  // of the view
  std::shared_ptr<const SubnetTablesTable> rank_reach_tables_;
};

}  // namespace railweave::control
