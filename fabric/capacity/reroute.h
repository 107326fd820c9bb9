// What becomes of reservations when forwarding tables or link states change: which of them cross what changed, what
// they take now, and which no longer fit.
#pragma once

#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/ledger.h"

namespace railweave::fabric {

// Those that send to a destination whose entry differs at a switch that their packets pass, those of which packets are
// lost by the tables before, and those that crossed a link of another state. By job and class. O(tiles + changed
// entries); planes and tiles that the tables share are not looked at.
std::vector<ReservationPtr> crossing_changes(const Ledger& ledger, const FabricView& view_before,
                                             const ForwardingTables& before, const FabricView& view_after,
                                             const ForwardingTables& after);

struct LapsedGuarantee {
  ReservationPtr reservation;   // with the loads it would need now
  std::vector<FullLink> links;  // where it does not fit
  bool unrouted = false;        // some of its ports cannot reach each other
};

struct RerouteOutcome {
  std::vector<std::string> recomputed;  // jobs, each once
  std::vector<LapsedGuarantee> lapsed;  // no longer in the ledger: what was promised does not hold
};

// Takes the crossing reservations out, computes their loads on the new tables and takes those that fit back in, in the
// order in which they were admitted. `loads` is of the tables after. A promise to survive a link failure is used up by
// one: what is reserved anew is what the fabric as it is needs.
RerouteOutcome recompute(Ledger& ledger, const std::vector<ReservationPtr>& crossing, HoseLoads& loads);

}  // namespace railweave::fabric
