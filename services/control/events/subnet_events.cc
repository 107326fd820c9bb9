#include "services/control/events/subnet_events.h"

#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

void apply_change(ClusterState& state, const SubnetModeSet& body, const Event& event) {
  auto policies = std::make_shared<SubnetPolicyTable>(*state.subnet_policies);
  SubnetPolicy& policy = (*policies)[body.subnet];
  policy.mode = body.mode;
  policy.reason = body.reason;
  policy.version = event.seq;
  state.subnet_policies = std::move(policies);
}

void apply_change(ClusterState& state, const SubnetKeyRotated& body, const Event&) {
  auto policies = std::make_shared<SubnetPolicyTable>(*state.subnet_policies);
  (*policies)[body.subnet].key_rotations = body.generation == 0 ? 0 : body.generation - 1;
  state.subnet_policies = std::move(policies);
}

void apply_change(ClusterState& state, const RoutesRebalanced& body, const Event& event) {
  state.put_route_basis(body.subnet, {body.links, body.switches, body.hops, event.time_us, event.seq, body.taken});
  state.view_version = event.seq;
}

void apply_change(ClusterState& state, const SubnetSpreadSet& body, const Event& event) {
  state.put_spread(body.subnet, {body.spread, body.reason, event.seq});
  state.view_version = event.seq;
}

}  // namespace railweave::control
