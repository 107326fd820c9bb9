// The search for GPUs whose links have room for a guarantee. Used by admitted_placement() and its counterfactuals.
#pragma once

#include <expected>
#include <optional>

#include "services/control/guarantees/admitted_placement.h"

namespace railweave::control {

class PlacementTries {
 public:
  // Borrows both.
  PlacementTries(const ClusterState& state, PlacerCache& placers, std::int64_t now_us, bool with_alternatives)
      : state_(state), placers_(placers), now_us_(now_us), with_alternatives_(with_alternatives) {}

  // Places by the residual capacity of links and admits. If links are too full, tries again without the hosts behind
  // these links, at most `most` times in all.
  std::expected<AdmittedPlacement, Rejection> place(scheduler::JobSpec tried_spec,
                                                    const std::optional<scheduler::Contract>& terms, unsigned most);
  // The same, and if that finds only full links, within one group of each near level.
  static constexpr unsigned kPlacementTries = 4;
  std::expected<AdmittedPlacement, Rejection> place_anywhere(const scheduler::JobSpec& spec,
                                                             const std::optional<scheduler::Contract>& terms);

 private:
  const ClusterState& state_;
  PlacerCache& placers_;
  const std::int64_t now_us_;
  const bool with_alternatives_;
};

}  // namespace railweave::control
