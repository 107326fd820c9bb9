// Lanes of their own that jobs have on links: which lane a job can have on all of its links, and who has the others. Two
// jobs need different lanes only where they meet on a directed link, so that lanes are the colours of a conflict graph:
// given in the order of admission, the lowest that no other job has on any link. A lane stays while its job runs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/capacity/ledger.h"

namespace railweave::fabric {

inline constexpr unsigned kMaxOwnedLanes = 15;

// The lanes that jobs have on any of these links, a bit each. O(entries).
std::uint16_t lanes_met(const Ledger& ledger, const LoadVector& loads);
// One more than the highest lane that a job has on any link; 0: none has one. O(reservations).
unsigned lanes_in_use(const Ledger& ledger);
// The lane to give: `own` if no job has it there, else the lowest below `lanes`. None: all are taken.
std::optional<std::uint8_t> free_lane(const Ledger& ledger, const LoadVector& loads, unsigned lanes,
                                      std::optional<std::uint8_t> own = {});
// Whether no job has the reservation's lane on its links, or it has none. The ledger is without the reservation.
bool lane_is_free(const Ledger& ledger, const Reservation& reservation);
// The links of the load on which most lanes are taken, first, with the jobs that have them. Empty: no lane is taken.
std::vector<FullLink> crowded_links(const Ledger& ledger, const LoadVector& loads, std::uint8_t qos_class,
                                    std::size_t at_most = 16);

struct OwnedLoad {
  DirectedLink link = 0;
  std::uint8_t lane = 0, qos_class = 0;
  std::int64_t mbps = 0;
  const Reservation* owner = nullptr;  // in the ledger
};
// What owners of lanes have reserved on the links of a load, or on all links; in order of links and lanes.
std::vector<OwnedLoad> owned_loads(const Ledger& ledger, const LoadVector& on);
std::vector<OwnedLoad> owned_loads(const Ledger& ledger);
// Those of one link.
std::span<const OwnedLoad> owned_on(const std::vector<OwnedLoad>& owned, DirectedLink link);

// The same reservation with that lane.
ReservationPtr with_lane(const ReservationPtr& reservation, std::optional<std::uint8_t> lane);
// Reserves, without a lane where another job has it on a link. What was reserved.
ReservationPtr reserve_beside(Ledger& ledger, const ReservationPtr& reservation);

}  // namespace railweave::fabric
