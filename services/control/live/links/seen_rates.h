// The rates at which one subnet's links are seen to run, where those are less than accepted. Of one accepted topology; used
// by the stepping thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

class SeenRates {
 public:
  explicit SeenRates(const SubnetLinks& links) : links_(links) {}

  // Reads them as the driver last found them; returns the cables that run at another rate than before, by their place in
  // cables(). states: of cables(); known: before the first observation. Where neither end answers the rate stays.
  std::vector<std::size_t> observe(const fabric::FabricDriver& driver, std::span<const fabric::LinkState> states,
                                   const fabric::FabricView& known);

  // By cable, as cables(); 0: as accepted, not known, or down.
  [[nodiscard]] RateMbps of(std::size_t cable) const { return cable < rates_.size() ? rates_[cable] : RateMbps(); }

 private:
  [[nodiscard]] RateMbps seen(const SubnetLinks::Cable& cable, const fabric::FabricDriver& driver,
                              RateMbps before) const;

  const SubnetLinks& links_;
  std::vector<RateMbps> rates_;  // empty: not observed yet
};

}  // namespace railweave::control
