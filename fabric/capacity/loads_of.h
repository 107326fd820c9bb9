// The load of a reservation, hose or pattern, on the present fabric and after any single link failure.
#pragma once

#include <functional>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/reservation.h"
#include "fabric/capacity/route_changes.h"

namespace railweave::fabric {

struct PromisedLoad {
  LoadVector loads;
  bool complete = true;        // every port reaches every other, every flow arrives
  std::size_t flow_links = 0;  // links that took a maximum flow
};

// `loads` and `walker` are of the same view and tables.
PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads, const PathWalker& walker);
// Of one reservation by itself. Callers with many patterns keep a walker: making one is a pass over the fabric.
PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads);

struct SurvivingLoad {
  PromisedLoad worst;               // the largest load of each link, without a failure and after each one
  std::vector<LinkId> covered;      // of the links whose failure may change the job's routes
  std::vector<LinkId> not_covered;  // their failure disconnects ports of the job, as that of its own cables does
};

// What a reservation needs to survive failures, computed by a caller that has the routes.
using SurvivingLoadOf = std::function<Result<SurvivingLoad>(const Reservation&)>;

// The links between switches whose failure may change the job's routes: those that its packets cross, and the
// far-reaching ones of the planes that they cross. Ascending, each once. plain: the load of the promise.
std::vector<LinkId> failures_that_matter(const FabricView& view, const ForwardingTables& tables,
                                         const LoadVector& plain,
                                         const std::function<std::vector<LinkId>(PlaneId)>& far_reaching);

// A search through the failures that matter, which may be interrupted and continued: where packets are spread over several
// paths each failure costs as much as the whole load, elsewhere little. Between calls it borrows nothing.
class SurvivingSearch {
 public:
  // `failures` gives far_reaching.
  SurvivingSearch(const Reservation& reservation, HoseLoads& loads, const FailureRoutes& failures);

  // Of the same reservation, loads and routes. Goes on for at least this work, in failures of links on single paths, or to
  // the end. Errors: those of FailureRoutes::changes_without; the search is then where it was.
  Result<void> run(const Reservation& reservation, const HoseLoads& loads, const FailureRoutes& failures,
                   std::size_t work);
  [[nodiscard]] std::size_t spread_work() const;  // left in planes whose packets are spread
  [[nodiscard]] bool is_done() const { return done_ == links_.size(); }
  [[nodiscard]] SurvivingLoad take(const Reservation& reservation) &&;  // is_done()

 private:
  struct Failure {
    PlaneId plane;
    LinkId link;
    std::size_t work = 1;
  };
  SurvivingLoad result_;
  std::vector<std::int64_t> worst_;  // by directed link
  std::vector<Failure> links_;       // by plane
  std::size_t done_ = 0;
};

// The largest load of each link is never less than what any one failure needs; the sum over several jobs may be more
// than any one failure needs. For each failure that matters only the changed routes are computed (hose_routes.h).
// Errors: those of FailureRoutes::changes_without.
Result<SurvivingLoad> load_surviving_failures(const Reservation& reservation, HoseLoads& loads,
                                              const FailureRoutes& failures);

}  // namespace railweave::fabric
