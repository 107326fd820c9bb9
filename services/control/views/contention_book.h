// How much placed jobs slow down each other's communication on shared links. Used by API workers for job documents and
// what-if placements, never by the control thread. Brought up to date by what differs between states.
//
// All jobs are compared on one basis: the directed links of their real routes where the fabric can be routed and the
// flows are few enough to be walked, else bundles of links. Not thread-safe: guard it with a mutex.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/flow/directed_link.h"
#include "fabric/flow/flow_paths.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "scheduler/placement/score/contention.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/peer_places.h"
#include "services/control/views/placed_jobs.h"
#include "services/control/views/routing_cache.h"
#include "services/control/views/tables_used.h"

namespace railweave::control {

// A job that another job slows down.
struct SlowedJob {
  JobPtr job;
  scheduler::Prediction before, after;  // without and with the other job; both with all remaining jobs
  [[nodiscard]] double factor() const;  // communication time after / before
};

struct JobContention {
  scheduler::Contention own;
  std::string link;                     // name of the most contended link; "": none
  std::vector<SlowedJob> slows;         // largest factor first
  std::vector<TablesUsed> tables = {};  // that its flows follow; empty: on bundles
};

class ContentionBook {
 public:
  // Beyond these numbers of flows the basis is bundles.
  static constexpr double kMaxFlowsOfJob = 2e6;
  static constexpr double kMaxFlows = 6e6;
  // Limit of other jobs to predict, in descending order of the share of a common link that this job uses.
  static constexpr std::size_t kMaxCompared = 24;
  static constexpr std::size_t kMaxSlowed = 5;
  static constexpr double kSlowed = 1.001;  // smaller factors are rounding

  explicit ContentionBook(std::shared_ptr<RoutingCache> routing = std::make_shared<RoutingCache>())
      : routing_(std::move(routing)) {}

  void bring_to(const ClusterState& state);

  // The following are about the state of the last bring_to().
  // Contention of a placed job and the jobs it slows down; none: it is not placed.
  [[nodiscard]] std::optional<JobContention> of(JobId id);
  // The same for a job that is not placed, as if it were placed on these GPUs.
  [[nodiscard]] JobContention what_if(const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

  // Only its own part of that, for comparing placements of one job.
  [[nodiscard]] scheduler::Contention compared(const scheduler::JobSpec& spec,
                                               std::span<const fabric::GpuId> gpu_of_rank);

  // What jobs send over a directed link, most first. Where bundles are compared, over the whole bundle that it is one of.
  struct OnLink {
    std::vector<scheduler::LinkSenders::Sender> senders;
    double capacity_mbps = 0;
    std::size_t links = 1;  // of the bundle
  };
  [[nodiscard]] OnLink on(fabric::DirectedLink link) const;

  // What a placed job sends over each directed link, in the mean over a step of its; where bundles are compared, an even
  // share of the bundle. Links between sites are left out.
  struct Sent {
    fabric::DirectedLink link;
    double mbps = 0;
  };
  [[nodiscard]] std::vector<Sent> sent_by(JobId id) const;
  // Of a step of it, as if it were alone; none: it is not placed.
  [[nodiscard]] std::optional<double> period_us(JobId id) const;

  [[nodiscard]] scheduler::ContentionBasis basis() const { return basis_; }
  [[nodiscard]] std::uint64_t computed() const { return computed_; }  // loads of jobs computed since construction

 private:
  struct Entry {
    JobPtr job;
    scheduler::BundleTraffic::Load load;
    double flows = 0;
  };

  void use_bundles_if_many(double flows);
  void load(Entry& entry);
  void load_all();
  [[nodiscard]] scheduler::BundleTraffic::Load load_of(const scheduler::JobSpec& spec,
                                                       std::span<const fabric::GpuId> gpu_of_rank,
                                                       scheduler::ContentionBasis basis);
  [[nodiscard]] JobContention contention(const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank,
                                         const scheduler::LinkTraffic& loads, std::uint64_t own) const;
  [[nodiscard]] std::vector<TablesUsed> tables_of(std::span<const fabric::GpuId> gpu_of_rank) const;
  [[nodiscard]] std::vector<JobPtr> sharing_links(std::uint64_t own) const;
  [[nodiscard]] scheduler::Prediction prediction(const JobPtr& job) const;
  [[nodiscard]] std::string link_text(std::uint32_t link) const;
  [[nodiscard]] std::string wan_text(std::uint32_t bundle) const;

  std::shared_ptr<RoutingCache> routing_;
  scheduler::PlacementFabricPtr fabric_;
  FabricRoutesPtr routes_;  // null: the fabric cannot be routed
  std::unique_ptr<fabric::PathWalker> walker_;
  std::unique_ptr<scheduler::BundleTraffic> bundles_;  // for periods, and for loads where the basis is bundles
  std::uint64_t view_version_ = 0;
  PlacedJobs placed_;
  std::shared_ptr<JobTable> jobs_ = std::make_shared<JobTable>();
  scheduler::PeerGpus peers_ = peer_places(jobs_);
  std::map<std::uint64_t, Entry> entries_;
  double flows_ = 0;       // of all entries
  std::size_t large_ = 0;  // entries with more than kMaxFlowsOfJob
  scheduler::ContentionBasis basis_ = scheduler::ContentionBasis::bundles;
  std::vector<TablesUsed> tables_;     // that routes_ are made of
  std::vector<double> capacity_mbps_;  // by link of the basis
  scheduler::LinkSenders senders_;
  std::uint64_t computed_ = 0;
};

}  // namespace railweave::control
