#include "services/control/events/subnet_events.h"

#include "services/control/events/event.h"

namespace railweave::control {

void apply_change(ClusterState& state, const SubnetModeSet& body, const Event& event) {
  auto policies = std::make_shared<SubnetPolicyTable>(*state.subnet_policies);
  policies->insert_or_assign(body.subnet, SubnetPolicy{body.mode, body.reason, event.seq});
  state.subnet_policies = std::move(policies);
}

void apply_change(ClusterState& state, const SubnetSpreadSet& body, const Event& event) {
  state.put_spread(body.subnet, {body.spread, body.reason, event.seq});
  state.view_version = event.seq;
}

}  // namespace railweave::control
