// Which switches of one subnet are there. A switch that does not answer is not gone: it is gone where every cable that
// led to it is down at its other end, as that end says.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

enum class SwitchPresence : std::uint8_t {
  present,
  silent,  // it does not answer, or what leads to it does not
  gone,    // no cable leads to it
};

class SwitchPresences {
 public:
  SwitchPresences() = default;
  // As the driver last found them; silent: devices that did not answer every question.
  SwitchPresences(const SubnetLinks& links, const fabric::FabricDriver& driver, const std::set<Guid>& silent);

  [[nodiscard]] SwitchPresence of(fabric::SwitchId sw) const {
    return sw.index() < of_.size() ? of_[sw.index()] : SwitchPresence::silent;  // nothing was found yet
  }
  [[nodiscard]] bool is_gone(fabric::SwitchId sw) const { return of(sw) == SwitchPresence::gone; }
  [[nodiscard]] bool is_present(fabric::SwitchId sw) const { return of(sw) == SwitchPresence::present; }
  // The subnet's switches that cannot be reached: gone or silent.
  [[nodiscard]] std::size_t unreached() const { return unreached_; }

 private:
  std::vector<SwitchPresence> of_;  // by SwitchId; of other subnets: present
  std::size_t unreached_ = 0;
};

}  // namespace railweave::control
