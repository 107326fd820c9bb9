// What the guarantees of a state take of every link, on the routes of that state. Says only what follows from the
// state: whose guarantee is at risk is the state's to say (guarantee_recheck.h decides it), and those take nothing.
//
// Brought up to date by what differs: jobs that started, ended or changed, and of the others those whose packets cross
// an entry or a link that changed. Costs nothing while it is not asked. One per thread.
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
#include "services/control/views/routing_cache.h"

namespace railweave::control {

class GuaranteeBook {
 public:
  // Routes may be shared with others.
  explicit GuaranteeBook(std::shared_ptr<RoutingCache> routing = std::make_shared<RoutingCache>())
      : routing_(std::move(routing)) {}

  // Errors: of routing; the book is then as it was.
  Result<void> bring_to(const ClusterState& state);

  // After bring_to(), of that state:
  [[nodiscard]] const fabric::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const FabricRoutesPtr& routes() const { return routes_; }
  [[nodiscard]] fabric::HoseLoads& loads() const { return *loads_; }
  [[nodiscard]] const fabric::QosClasses& classes() const { return *classes_; }
  // Changes whenever the ledger does.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // Jobs whose loads that made new: they came, were moved or amended, or cross what changed of links and routes.
  [[nodiscard]] const std::vector<JobId>& crossing() const { return crossing_; }
  // Some ports of the job cannot reach each other.
  [[nodiscard]] bool incomplete(JobId job) const;
  // Loads computed since construction.
  [[nodiscard]] std::uint64_t computed() const { return computed_; }

  // What the job would take as the fabric is, or, where asked, after any single failure as well.
  struct Wanted {
    fabric::ReservationPtr reservation;
    bool complete = true;
  };
  [[nodiscard]] Wanted plain(const Job& job);
  [[nodiscard]] Result<Wanted> surviving(const Job& job);
  // On the routes of the state; borrows the book.
  [[nodiscard]] fabric::SurvivingLoadOf surviving_load();
  // Of what surviving() would look at, how many failures of links nobody looked at yet; and looking at some of them.
  [[nodiscard]] std::size_t unknown_failures(const Job& job);
  void look_at_failures(const Job& job, std::size_t most);
  // Jobs that may be covered again, with how many failures were unknown when last looked at: a note for the next time
  // round (guarantee_coverage.h), which nothing else rests on.
  [[nodiscard]] std::map<JobId, std::size_t>& to_cover() { return to_cover_; }
  [[nodiscard]] const std::shared_ptr<RoutingCache>& routing() const { return routing_; }
  // Mb/s by directed link that no guarantee takes, drained links having none.
  [[nodiscard]] std::vector<double> residual_mbps() const;

 private:
  struct Entry {
    JobPtr job;
    fabric::ReservationPtr reservation;  // in the ledger; null: nothing is, the guarantee is at risk
    bool complete = true;
  };

  void start_anew(const ClusterState& state, FabricRoutesPtr routes);
  void follow_view(FabricRoutesPtr routes);
  void add(const JobPtr& job);
  void drop(Entry& entry);
  [[nodiscard]] std::optional<fabric::Reservation> bare(const Job& job, const fabric::RoutingScope& scope) const;
  [[nodiscard]] Wanted computed_for(const JobPtr& job);
  [[nodiscard]] Result<Wanted> surviving_on(const Job& job, const FabricRoutesPtr& routes);
  [[nodiscard]] Result<FabricRoutesPtr> routes_on(const ViewBasis& basis);

  std::shared_ptr<RoutingCache> routing_;
  FabricRoutesPtr routes_;
  std::shared_ptr<const fabric::QosClasses> classes_;
  scheduler::PlacementFabricPtr fabric_;
  std::shared_ptr<const QueueRules> rules_;
  fabric::Ledger ledger_;
  std::unique_ptr<fabric::HoseLoads> loads_;
  std::map<JobId, Entry> entries_;
  std::vector<JobId> crossing_;
  std::map<JobId, std::size_t> to_cover_;
  std::uint64_t version_ = 0, computed_ = 0;
  std::optional<ViewBasis> basis_;  // of basis_routes_
  FabricRoutesPtr basis_routes_;
};

// Who keeps a guarantee when not all fit: the smaller number. Priority classes of higher value first (one that the
// queue's policy does not know has 0, as in the queue), then who was admitted earlier.
std::uint64_t guarantee_order(const QueueRules& rules, const Job& job);

// What carries no traffic in the view; none: more than ViewBasis::kMaxNames.
std::optional<ViewBasis> basis_of(const fabric::FabricView& view);

// "job-000001" names the job in reservations.
inline JobId job_of(const fabric::Reservation& reservation) { return parse_job_id(reservation.job).value_or(JobId()); }

}  // namespace railweave::control
