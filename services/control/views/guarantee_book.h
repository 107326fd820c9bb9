// What the guarantees of a state reserve on every link, by the routes of that state. Used by admission, recheck, repair
// and the API. Which guarantees are at risk is part of the state (guarantees/recheck.h decides it); those reserve
// nothing.
//
// bring_to() recomputes only what differs: jobs that started, ended or changed, and jobs whose packets cross a table
// entry or a link that changed. Where routes have changed so that two jobs would have one lane on a link, one of them is
// reserved without it until an event says what follows. Not thread-safe: one book per thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/ledger.h"
#include "fabric/capacity/loads_of.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/rank_reach.h"
#include "services/control/views/role_receivers.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

class GuaranteeBook {
 public:
  // The routing cache may be shared between books.
  explicit GuaranteeBook(std::shared_ptr<RoutingCache> routing = std::make_shared<RoutingCache>())
      : routing_(std::move(routing)) {}

  // Brings the book to the state. Errors: of routing; the book is then unchanged.
  Result<void> bring_to(const ClusterState& state);

  // The following are about the state of the last bring_to().
  [[nodiscard]] const fabric::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const FabricRoutesPtr& routes() const { return routes_; }
  [[nodiscard]] fabric::HoseLoads& loads() const { return *loads_; }
  [[nodiscard]] const RankReach& reach() const { return *reach_; }
  [[nodiscard]] const fabric::QosClasses& classes() const { return *classes_; }
  // Changes whenever the ledger does.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // Jobs that the last bring_to() recomputed: they started, moved or were amended, or cross changed links or entries.
  [[nodiscard]] const std::vector<JobId>& crossing() const { return crossing_; }
  // True: some ports or ranks of the job cannot reach each other.
  [[nodiscard]] bool incomplete(JobId job) const;
  // The subnet whose tables in force are not Railweave's and that ports of the job are in; "": none. What routes are after a
  // failure there is not known, so that no guarantee can be covered against it.
  [[nodiscard]] std::string subnet_seen(const Job& job) const;
  // Number of loads computed since construction.
  [[nodiscard]] std::uint64_t computed() const { return computed_; }

  // What the job needs reserved: on the routes as they are (plain), or so that any single link failure is covered too
  // (surviving). No reservation: the job's class does not exist.
  struct Wanted {
    fabric::ReservationPtr reservation;
    bool complete = true;
  };
  [[nodiscard]] Wanted plain(const Job& job);
  [[nodiscard]] Result<Wanted> surviving(const Job& job);
  // What a job that sends to another role needs while that is at a place: on the routes as they are, and after failures where
  // the job is covered.
  [[nodiscard]] Result<Wanted> reaching(const JobPtr& job, const JobAt& receiver);
  // For admission, on the routes of the state. Borrows the book.
  [[nodiscard]] fabric::SurvivingLoadOf surviving_load();
  // Number of link failures that surviving() needs and that are not computed yet; and computing up to `limit` of them.
  [[nodiscard]] std::size_t unknown_failures(const Job& job);
  void compute_failures(const Job& job, std::size_t limit);
  // Jobs that may be covered against failures again, with the number of failures that were not computed at the last
  // attempt. Written by guarantees/recheck.h, worked off by guarantees/coverage.h; nothing else depends on it.
  [[nodiscard]] std::map<JobId, std::size_t>& to_cover() { return to_cover_; }
  [[nodiscard]] const std::shared_ptr<RoutingCache>& routing() const { return routing_; }
  // Residual capacity: Mb/s by directed link that no guarantee reserves; 0 for drained links.
  [[nodiscard]] std::vector<double> residual_mbps() const;

 private:
  struct Entry {
    JobPtr job;
    fabric::ReservationPtr reservation;  // as in the ledger; null: the guarantee is at risk and reserves nothing
    bool complete = true;
  };

  void rebuild(const ClusterState& state, FabricRoutesPtr routes);
  void follow_view(FabricRoutesPtr routes);
  void add(const JobPtr& job);
  void drop(Entry& entry);
  // receiver: of what it sends to other roles, beside those of the state.
  [[nodiscard]] std::optional<fabric::Reservation> without_loads(const Job& job, const fabric::RoutingScope& scope,
                                                                 const JobAt* receiver = nullptr) const;
  [[nodiscard]] bool reaches_elsewhere(const Job& now, const fabric::Reservation& reservation) const;
  [[nodiscard]] Wanted compute(const JobPtr& job);
  [[nodiscard]] Wanted plain_with(const Job& job, const JobAt* receiver);
  [[nodiscard]] Result<Wanted> surviving_on(const Job& job, const FabricRoutesPtr& routes,
                                            const JobAt* receiver = nullptr);
  [[nodiscard]] Result<void> few_unknown(const fabric::Reservation& wanted);
  [[nodiscard]] Result<FabricRoutesPtr> routes_on(const ViewBasis& basis);
  [[nodiscard]] Result<void> failures_known(const fabric::Reservation& wanted) const;

  std::shared_ptr<RoutingCache> routing_;
  FabricRoutesPtr routes_;
  std::shared_ptr<const fabric::QosClasses> classes_;
  scheduler::PlacementFabricPtr fabric_;
  std::shared_ptr<const QueueRules> rules_;
  JobTable jobs_;  // of the state
  fabric::Ledger ledger_;
  std::unique_ptr<fabric::HoseLoads> loads_;
  std::unique_ptr<RankReach> reach_;
  std::map<JobId, Entry> entries_;
  std::vector<JobId> crossing_;
  std::map<JobId, std::size_t> to_cover_;
  std::uint64_t version_ = 0, computed_ = 0;
  std::optional<ViewBasis> basis_;  // of basis_routes_
  FabricRoutesPtr basis_routes_;
};

// The order in which guarantees are served when not all fit: the smaller number first. Priority classes of higher value
// come first (a class that the queue's policy does not know counts as 0, as in the queue), then earlier admission.
std::uint64_t guarantee_order(const QueueRules& rules, const Job& job);

// The links and switches that the view has out of use; none: more than ViewBasis::kMaxNames.
std::optional<ViewBasis> basis_of(const fabric::FabricView& view);

// Reservations name their job by the text of its id.
inline JobId job_of(const fabric::Reservation& reservation) { return parse_job_id(reservation.job).value_or(JobId()); }

}  // namespace railweave::control
