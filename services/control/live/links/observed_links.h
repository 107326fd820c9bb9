// The state of one subnet's links as observed and damped: links that flap are down until they are calm. Of one accepted
// topology; used by the stepping thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/health/link_damping.h"
#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

class ObservedLinks {
 public:
  ObservedLinks(const SubnetLinks& links, const fabric::health::DampingOptions& options);

  struct Change {
    bool is_first = false;  // nothing was observed before
    std::size_t lost = 0, back = 0;
    std::vector<std::size_t> differing;  // of cables()
    std::vector<std::size_t> returned;   // of these: their devices may have lost what was written to them
  };
  // Reads the links as the driver last found them. `known`: the states before the first observation.
  Change observe(const fabric::FabricDriver& driver, bool bringing_up, std::int64_t now_us,
                 const fabric::FabricView& known);
  // The next observation is the first again; what flapped is remembered.
  void forget() { states_.clear(); }

  [[nodiscard]] bool empty() const { return states_.empty(); }
  // As SubnetLinks::cables(); empty: not observed yet.
  [[nodiscard]] std::span<const fabric::LinkState> states() const { return states_; }
  [[nodiscard]] bool was_found_down(std::size_t cable) const { return found_[cable] == fabric::LinkState::down; }
  [[nodiscard]] std::span<const std::size_t> damped() const { return damped_; }  // of cables()
  [[nodiscard]] std::size_t up() const { return up_; }
  // Damped links became calm since this was last asked.
  [[nodiscard]] bool take_calm(std::int64_t now_us) { return !damping_->take_reusable(now_us).empty(); }

 private:
  void damp(std::vector<fabric::LinkState>& states, std::int64_t now_us);

  const SubnetLinks& links_;
  std::optional<fabric::health::LinkDamping> damping_;  // none: the topology has no such subnet
  std::vector<fabric::LinkState> states_, found_;       // damped, and as found
  std::vector<std::size_t> damped_;
  std::size_t up_ = 0;
};

}  // namespace railweave::control
