// What single failures would make of one set of routes, and what jobs need so that none of them matters: computed once,
// whoever asks and however often. Thread-safe; who asks for the same at the same time may compute it twice.
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

  // What differs of the routes with the link between two switches down as well. Errors: of rerouting.
  Result<fabric::RouteChangesPtr> without(const FabricRoutes& routes, fabric::LinkId link);
  // `loads` is of the routes. Errors: of rerouting.
  Result<SurvivingPtr> surviving(const FabricRoutes& routes, const fabric::Reservation& wanted,
                                 fabric::HoseLoads& loads);

  // How many links the reservation crosses whose failure nobody looked at yet; 0: surviving() answers at once.
  [[nodiscard]] std::size_t unknown(const fabric::Reservation& wanted, fabric::HoseLoads& loads) const;
  // Looks at up to so many of them, side by side.
  void look_at(const FabricRoutes& routes, const fabric::Reservation& wanted, fabric::HoseLoads& loads,
               std::size_t most);

  // Kept, then forgotten: changed entries (12 bytes each), and jobs.
  static constexpr std::size_t kMaxEntries = 16'000'000, kMaxJobs = 1'024;

 private:
  [[nodiscard]] SurvivingPtr find(const fabric::Reservation& wanted) const;
  [[nodiscard]] std::vector<fabric::LinkId> missing(const fabric::Reservation& wanted, fabric::HoseLoads& loads) const;

  struct Known {
    fabric::Reservation wanted;  // without loads
    SurvivingPtr load;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, fabric::RouteChangesPtr> changes_;  // by link
  std::size_t entries_ = 0;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const Known>> jobs_;  // by a hash of what is wanted
};

}  // namespace railweave::control
