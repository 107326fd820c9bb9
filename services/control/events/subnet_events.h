// What operators say of a subnet.
#pragma once

#include <string>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

struct SubnetModeSet {
  std::string subnet;
  SubnetMode mode = SubnetMode::observe;
  std::string reason;
};
struct SubnetSpreadSet {
  std::string subnet;
  fabric::PathSpread spread = fabric::PathSpread::single;
  std::string reason;
};

struct Event;
void apply_change(ClusterState& state, const SubnetModeSet& body, const Event& event);
void apply_change(ClusterState& state, const SubnetSpreadSet& body, const Event& event);

}  // namespace railweave::control
