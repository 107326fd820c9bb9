// Hands Railweave's tables to OpenSM, which programs them.
#pragma once

#include "fabric/drivers/opensm/plugin/opensm_api.h"
#include "fabric/drivers/opensm/routing/subnet_router.h"

namespace railweave::fabric::opensm {

// Writes the whole new_lft of every switch: LIDs without a route are dropped. LIDs that OpenSM has not assigned, or has
// assigned to another port than the cabling says, are left out. The caller holds OpenSM's lock exclusively.
void write_tables(const RoutedSubnet& routed, osm_subn_t& subnet);

// The LID is the destination's own, as the source of the topology says; RoutingScope assigns others.
bool has_own_lid(const RoutingScope& scope, DestinationId id);
bool has_own_lid(const RoutingScope& scope, SwitchId sw);

}  // namespace railweave::fabric::opensm
