// Whose share of streams, workers and large answers a caller uses: its tenant's, and of that its own. Pure.
#pragma once

#include "api/http/dispatch/fair_slots.h"
#include "services/rest/access/caller.h"

namespace railweave::api {

SlotOwner slot_owner(const Caller* caller);

}  // namespace railweave::api
