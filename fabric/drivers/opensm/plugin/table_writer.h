// Our tables as the ones that OpenSM is to program.
#pragma once

#include "fabric/drivers/opensm/plugin/opensm_api.h"
#include "fabric/drivers/opensm/routing/subnet_router.h"

namespace railweave::fabric::opensm {

// Into every switch's new_lft, all of it: what is not routed is dropped. LIDs that OpenSM has given to nobody, or to
// another port than we think, are left out. The caller holds OpenSM's lock exclusively.
void write_tables(const RoutedSubnet& routed, osm_subn_t& subnet);

// The LID is the destination's own, as the source of the topology says; RoutingScope makes up others.
bool has_own_lid(const RoutingScope& scope, DestinationId id);
bool has_own_lid(const RoutingScope& scope, SwitchId sw);

}  // namespace railweave::fabric::opensm
