// LIDs and link states of one subnet's ports: given and activated in direct mode, OpenSM's in opensm mode. Of one
// accepted topology; used by the stepping thread.
#pragma once

#include <cstdint>

#include "fabric/routing/plane/routing_scope.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

class PortActivation {
 public:
  enum class Phase : std::uint8_t {
    pending,  // not tried, refused, or to be done again
    partial,  // done, but some ports could not be activated
    active,
  };
  PortActivation(const SubnetContext& context, const SubnetLinks& links) : context_(context), links_(links) {}

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool is_done() const { return phase_ != Phase::pending; }  // tables may be written
  void forget() { phase_ = Phase::pending; }
  // LIDs are those of the scope. Error: the connection failed; where writing was refused it stays pending.
  Result<void> bring_up(const fabric::RoutingScope& scope);

 private:
  const SubnetContext& context_;
  const SubnetLinks& links_;
  Phase phase_ = Phase::pending;
};

}  // namespace railweave::control
