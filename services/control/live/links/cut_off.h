// Parts of one subnet that no link joins to the rest any more: a rack whose leaf is dead, or whose uplinks are. Each is
// one alarm that names its hosts and jobs, instead of one for every link.
#pragma once

#include <vector>

#include "services/control/live/links/observed_links.h"
#include "services/control/live/links/subnet_context.h"

namespace railweave::control {

struct CutOffParts {
  std::vector<Alarm> alarms;     // "hosts.cutOff", critical
  std::vector<bool> is_covered;  // by SwitchId: in a part that an alarm is about; empty: there are none
  [[nodiscard]] bool covers(fabric::SwitchId sw) const { return sw && !is_covered.empty() && is_covered[sw.index()]; }
};

CutOffParts find_cut_off(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                         const ObservedLinks& observed);

}  // namespace railweave::control
