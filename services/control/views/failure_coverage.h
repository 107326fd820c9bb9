// The effect of every single link failure on one set of routes, and the loads that reservations need to survive any of
// them. Part of FabricRoutes; each result is computed once and cached. Thread-safe; two threads that need the same
// result at the same time may compute it twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "fabric/capacity/loads_of.h"

namespace railweave::control {

class FabricRoutes;

class FailureCoverage {
 public:
  using SurvivingPtr = std::shared_ptr<const fabric::SurvivingLoad>;

  // The changes of the routes if this link between two switches failed as well. Errors: of rerouting.
  Result<fabric::RouteChangesPtr> without(const FabricRoutes& routes, fabric::LinkId link);
  // The largest loads over all single failures of links that change its routes; `loads` belongs to the same routes.
  // Errors: of rerouting.
  Result<SurvivingPtr> surviving(const FabricRoutes& routes, const fabric::Reservation& wanted,
                                 fabric::HoseLoads& loads);

  // Number of links whose failure may change the reservation's routes and is not computed yet, counted as more where its
  // packets are spread over several paths; 0: surviving() answers at once.
  [[nodiscard]] std::size_t unknown(const FabricRoutes& routes, const fabric::Reservation& wanted,
                                    fabric::HoseLoads& loads);
  // Computes the failure of up to `limit` of these links, in parallel; then goes on with the reservation's own search.
  void compute(const FabricRoutes& routes, const fabric::Reservation& wanted, fabric::HoseLoads& loads,
               std::size_t limit);

  // Bounds of the cache: changed table entries (12 bytes each) and jobs. A cache that is full is emptied.
  static constexpr std::size_t kMaxEntries = 16'000'000, kMaxJobs = 1'024;
  static constexpr std::size_t kMaxBegun = 16;  // searches: 8 bytes a directed link each

 private:
  [[nodiscard]] SurvivingPtr find(const fabric::Reservation& wanted) const;
  [[nodiscard]] std::vector<fabric::LinkId> missing(const FabricRoutes& routes, const fabric::Reservation& wanted,
                                                    fabric::HoseLoads& loads);
  [[nodiscard]] std::vector<fabric::LinkId> far_reaching(const FabricRoutes& routes, fabric::PlaneId plane);

  struct Known {
    fabric::Reservation wanted;  // without loads
    SurvivingPtr load;
  };
  struct Begun {
    fabric::Reservation wanted;  // without loads
    fabric::SurvivingSearch search;
  };
  using BegunPtr = std::shared_ptr<const Begun>;
  [[nodiscard]] fabric::FailureRoutes failures_of(const FabricRoutes& routes);
  [[nodiscard]] BegunPtr begun(const fabric::Reservation& wanted) const;  // null: it is not
  void keep(BegunPtr begun);                                              // unless another one is further
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, fabric::RouteChangesPtr> changes_;  // by link
  std::size_t entries_ = 0;
  std::unordered_map<std::uint32_t, std::vector<fabric::LinkId>> far_reaching_;  // by plane
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const Known>> jobs_;    // by a hash of the reservation's terms
  std::unordered_map<std::uint64_t, BegunPtr> begun_;                            // by the same; at most kMaxBegun
};

}  // namespace railweave::control
