// Recomputes reservations when forwarding tables or link states change: finds those that cross a change, computes their
// loads on the new tables, and reports those that no longer fit.
#pragma once

#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/ledger.h"

namespace railweave::fabric {

// Reservations that send to a destination whose entry differs at a switch that their packets pass, those that lose
// packets by the old tables, and those that crossed a link whose state changed. In order of job and class. O(tiles +
// changed entries); planes and tiles that the tables share are skipped. Where packets are spread over several paths, all
// reservations of a plane in which anything changed.
std::vector<ReservationPtr> crossing_changes(const Ledger& ledger, const FabricView& view_before,
                                             const ForwardingTables& before, const FabricView& view_after,
                                             const ForwardingTables& after);

struct LapsedGuarantee {
  ReservationPtr reservation;   // with the loads it would need now
  std::vector<FullLink> links;  // on which it does not fit
  bool unrouted = false;        // some of its ports cannot reach each other
};

struct RerouteOutcome {
  std::vector<std::string> recomputed;  // jobs, each once
  std::vector<LapsedGuarantee> lapsed;  // no longer in the ledger: the promise does not hold
};

// Releases the crossing reservations, computes their loads on the new tables and reserves those that fit again, in the
// order in which they were admitted. `loads` belongs to the new tables. The promise to survive a link failure ends with
// that failure: what is reserved then is what the present fabric needs.
RerouteOutcome recompute(Ledger& ledger, const std::vector<ReservationPtr>& crossing, HoseLoads& loads);

}  // namespace railweave::fabric
