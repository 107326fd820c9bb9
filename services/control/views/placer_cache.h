// A placer brought up to date with whatever state it is asked about: rebuilt when the topology changed, else
// synchronised with the few allocations that differ and, where a link or a guarantee changed, with what is left of
// links; candidates are scored beside what placed jobs send (scheduler/placement/score/bundle_traffic.h). One per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/placed_jobs.h"

namespace railweave::control {

class PlacerCache {
 public:
  // Routes may be shared with others: tables of large fabrics are large, and so is what failures would do to them.
  explicit PlacerCache(std::shared_ptr<RoutingCache> routing = std::make_shared<RoutingCache>())
      : guarantees_(std::move(routing)) {}

  scheduler::Placer& at(const ClusterState& state);
  // What guarantees take of links: bring it to the state before asking it.
  [[nodiscard]] GuaranteeBook& guarantees() { return guarantees_; }
  // Mb/s by bundle, as the placer was last told.
  [[nodiscard]] const std::vector<double>& capacities_mbps() const { return capacities_mbps_; }
  [[nodiscard]] std::uint64_t capacities_version() const { return capacities_version_; }  // changes with them
  // ... of the links that are up; and what the traffic of placed jobs leaves of them, which changes with every at().
  [[nodiscard]] const std::vector<double>& up_mbps() const { return up_mbps_; }
  [[nodiscard]] std::shared_ptr<const std::vector<double>> residual_mbps() const { return traffic_->residual_mbps(); }

 private:
  std::unique_ptr<scheduler::Placer> placer_;
  scheduler::PlacementFabricPtr fabric_;  // kept, so that no other one can come to lie at its address
  std::uint64_t view_version_ = 0;        // of the links that the placer knows of
  std::uint64_t reserved_version_ = 0;    // of the guarantees that are taken from them; 0: none
  GuaranteeBook guarantees_;
  std::vector<double> capacities_mbps_, up_mbps_;  // by bundle
  std::uint64_t capacities_version_ = 0;
  std::unique_ptr<scheduler::BundleTraffic> traffic_;
  PlacedJobs placed_;  // that traffic_ knows of
};

}  // namespace railweave::control
