// Entries that are not to change yet, because packets would be led to switches that keep their old ones: switches that cannot be
// written. Old and new entries together can be a loop there. Pure.
#pragma once

#include <set>
#include <vector>

#include "fabric/routing/delta/forwarding_delta.h"

namespace railweave::fabric {

// Of a delta between the two tables without the blocks of `unwritten` switches, puts the old entries in the place of new ones by which
// packets would get to an old entry of such a switch, unless they arrive that way and do not by the old ones; and takes out what then
// changes nothing, and all that waits. The other switches that keep something, ascending.
std::vector<SwitchId> hold_back(const FabricView& view, const Routing& before, const Routing& after,
                                const std::set<SwitchId>& unwritten, ForwardingDelta& delta);

}  // namespace railweave::fabric
