#include "services/control/live/links/seen_rates.h"

#include <utility>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

// Simulators and old firmware report no rate.
RateMbps SeenRates::seen(const SubnetLinks::Cable& cable, const FabricDriver& driver, RateMbps before) const {
  const LinkReading reading = driver.read_link(cable.a, cable.a_port);
  if (!reading.known && !driver.read_link(cable.b, cable.b_port).known) return before;
  const RateMbps accepted = links_.topology()->rate(cable.link);
  const bool is_other = accepted.value() == 0 || reading.spec.rate < accepted;
  return is_other ? reading.spec.rate : RateMbps();
}

std::vector<std::size_t> SeenRates::observe(const FabricDriver& driver, std::span<const LinkState> states,
                                            const FabricView& known) {
  std::vector<RateMbps> rates(states.size());
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& cable = links_.cables()[i];
    const RateMbps before = i < rates_.size() ? rates_[i] : known.rate_seen(cable.link);
    if (states[i] != LinkState::down) rates[i] = seen(cable, driver, before);
    if (rates[i] != before) changed.push_back(i);
  }
  rates_ = std::move(rates);
  return changed;
}

}  // namespace railweave::control
