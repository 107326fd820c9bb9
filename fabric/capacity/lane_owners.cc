#include "fabric/capacity/lane_owners.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace railweave::fabric {
namespace {

void sort_owned(std::vector<OwnedLoad>& owned) {
  std::ranges::sort(owned, {}, [](const OwnedLoad& one) { return std::tuple(one.link, one.lane); });
}

}  // namespace

std::uint16_t lanes_met(const Ledger& ledger, const LoadVector& loads) {
  unsigned met = 0;
  for (const LinkLoad& load : loads) met |= ledger.lanes_on(load.link);
  return static_cast<std::uint16_t>(met);
}

unsigned lanes_in_use(const Ledger& ledger) {
  unsigned most = 0;
  for (const ReservationPtr& reservation : ledger.reservations()) {
    if (reservation->lane && !reservation->loads.empty()) most = std::max(most, *reservation->lane + 1U);
  }
  return most;
}

std::optional<std::uint8_t> free_lane(const Ledger& ledger, const LoadVector& loads, unsigned lanes,
                                      std::optional<std::uint8_t> own) {
  const unsigned met = lanes_met(ledger, loads);
  if (own && *own < lanes && (met >> *own & 1U) == 0) return own;
  const auto lowest = static_cast<unsigned>(std::countr_one(met));
  return lowest < lanes ? std::optional(static_cast<std::uint8_t>(lowest)) : std::nullopt;
}

bool lane_is_free(const Ledger& ledger, const Reservation& reservation) {
  return !reservation.lane || (lanes_met(ledger, reservation.loads) >> *reservation.lane & 1U) == 0;
}

std::vector<FullLink> crowded_links(const Ledger& ledger, const LoadVector& loads, std::uint8_t qos_class,
                                    std::size_t at_most) {
  LoadVector taken;
  for (const LinkLoad& load : loads) {
    if (ledger.lanes_on(load.link) != 0) taken.push_back(load);
  }
  const auto owned = owned_loads(ledger, taken);
  std::ranges::stable_sort(taken, std::greater<>(),
                           [&](const LinkLoad& load) { return std::popcount(ledger.lanes_on(load.link)); });
  if (taken.size() > at_most) taken.resize(at_most);
  std::vector<FullLink> links;
  for (const LinkLoad& load : taken) {
    FullLink one{.link = load.link,
                 .wanted_mbps = load.mbps,
                 .reserved_mbps = ledger.reserved_mbps(load.link, qos_class),
                 .limit_mbps = ledger.limit_mbps(load.link, qos_class),
                 .holders = {}};
    for (const OwnedLoad& holder : owned_on(owned, load.link)) {
      if (one.holders.size() < FullLink::kMaxHolders) one.holders.push_back({holder.owner->job, holder.mbps});
    }
    links.push_back(std::move(one));
  }
  return links;
}

std::vector<OwnedLoad> owned_loads(const Ledger& ledger, const LoadVector& on) {
  std::vector<OwnedLoad> owned;
  if (lanes_met(ledger, on) == 0) return owned;
  for (const ReservationPtr& reservation : ledger.reservations()) {
    if (!reservation->lane) continue;
    auto at = on.begin();
    for (const LinkLoad& load : reservation->loads) {
      while (at != on.end() && at->link < load.link) ++at;
      if (at == on.end()) break;
      if (at->link != load.link) continue;
      owned.push_back({load.link, *reservation->lane, reservation->qos_class, load.mbps, reservation.get()});
    }
  }
  sort_owned(owned);
  return owned;
}

std::vector<OwnedLoad> owned_loads(const Ledger& ledger) {
  std::vector<OwnedLoad> owned;
  for (const ReservationPtr& reservation : ledger.reservations()) {
    if (!reservation->lane) continue;
    for (const LinkLoad& load : reservation->loads) {
      owned.push_back({load.link, *reservation->lane, reservation->qos_class, load.mbps, reservation.get()});
    }
  }
  sort_owned(owned);
  return owned;
}

std::span<const OwnedLoad> owned_on(const std::vector<OwnedLoad>& owned, DirectedLink link) {
  const auto here = std::ranges::equal_range(owned, link, {}, &OwnedLoad::link);
  return {here.begin(), here.end()};
}

ReservationPtr with_lane(const ReservationPtr& reservation, std::optional<std::uint8_t> lane) {
  if (reservation->lane == lane) return reservation;
  auto other = std::make_shared<Reservation>(*reservation);
  other->lane = lane;
  return other;
}

ReservationPtr reserve_beside(Ledger& ledger, const ReservationPtr& reservation) {
  ReservationPtr reserved = lane_is_free(ledger, *reservation) ? reservation : with_lane(reservation, std::nullopt);
  ledger.reserve(reserved);
  return reserved;
}

}  // namespace railweave::fabric
