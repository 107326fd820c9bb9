// The subnet as OpenSM sees it, as a Cabling.
#pragma once

#include "fabric/drivers/opensm/plugin/opensm_api.h"
#include "fabric/drivers/opensm/routing/cabling.h"

namespace railweave::fabric::opensm {

inline Guid guid_of(ib_net64_t guid) { return Guid(cl_ntoh64(guid)); }

// The caller holds OpenSM's lock. Everything is copied.
Cabling seen_subnet(const osm_subn_t& subnet);

}  // namespace railweave::fabric::opensm
