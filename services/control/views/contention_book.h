// What placed jobs' communication takes beside that of the others, on the routes of a state: brought up to date by what
// differs. All jobs on one basis: directed links crossed by the real routes where the fabric can be routed and flows
// are few enough to be walked, else bundles of links.
//
// Not thread-safe: for whoever holds the mutex beside it. Never on the control thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "scheduler/placement/score/contention.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/placed_jobs.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

// A job that another one slows down.
struct SlowedJob {
  JobPtr job;
  scheduler::Prediction before, after;  // without the other, and beside it; both beside everybody else
  [[nodiscard]] double factor() const;  // of communication
};

struct JobContention {
  scheduler::Contention own;
  std::string link;              // the most contended one, for people; "": none
  std::vector<SlowedJob> slows;  // most first
};

class ContentionBook {
 public:
  // More than that are not walked: bundles then.
  static constexpr double kMaxFlowsOfJob = 2e6;
  static constexpr double kMaxFlows = 6e6;
  // Jobs that one can slow are looked at in the order of how much it sends over their links.
  static constexpr std::size_t kMaxLookedAt = 24;
  static constexpr std::size_t kMaxSlowed = 5;
  static constexpr double kSlowed = 1.001;  // less is rounding

  explicit ContentionBook(std::shared_ptr<RoutingCache> routing = std::make_shared<RoutingCache>())
      : routing_(std::move(routing)) {}

  void bring_to(const ClusterState& state);

  // After bring_to(), of that state. Of a placed job: what it takes now, and whom it slows; none: it is not placed.
  [[nodiscard]] std::optional<JobContention> of(JobId id);
  // Of one that is not there, if it were.
  [[nodiscard]] JobContention what_if(const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

  [[nodiscard]] scheduler::ContentionBasis basis() const { return basis_; }
  [[nodiscard]] std::uint64_t computed() const { return computed_; }  // jobs' loads, since construction

 private:
  struct Entry {
    JobPtr job;
    scheduler::BundleTraffic::Load load;
    double flows = 0;
  };

  void load(Entry& entry);
  void load_all();
  [[nodiscard]] scheduler::BundleTraffic::Load load_of(const scheduler::JobSpec& spec,
                                                       std::span<const fabric::GpuId> gpu_of_rank,
                                                       scheduler::ContentionBasis basis);
  [[nodiscard]] JobContention contention(const scheduler::JobSpec& spec, const scheduler::LinkTraffic& loads,
                                         std::uint64_t own) const;
  [[nodiscard]] std::vector<JobPtr> beside(std::uint64_t own) const;
  [[nodiscard]] scheduler::Prediction prediction(const JobPtr& job) const;
  [[nodiscard]] std::string link_text(std::uint32_t link) const;

  std::shared_ptr<RoutingCache> routing_;
  scheduler::PlacementFabricPtr fabric_;
  FabricRoutesPtr routes_;  // null: none to be had
  std::unique_ptr<fabric::PathWalker> walker_;
  std::unique_ptr<scheduler::BundleTraffic> bundles_;  // for periods, and for loads where the basis is bundles
  std::uint64_t view_version_ = 0;
  PlacedJobs placed_;
  std::map<std::uint64_t, Entry> entries_;
  double flows_ = 0;  // of all
  scheduler::ContentionBasis basis_ = scheduler::ContentionBasis::bundles;
  std::vector<double> capacity_mbps_;  // by link of the basis
  scheduler::LinkSenders senders_;
  std::uint64_t computed_ = 0;
};

}  // namespace railweave::control
