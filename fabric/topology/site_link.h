// Parallel long-haul links between two sites, described by their number, rate and delay.
//
// They are a table apart from the fabric's links, not links between switches: sites are subnets of their own, joined by
// routers or at the IP level, so no forwarding table, LID or deadlock rule crosses them, and routing engines, audits
// and sweeps need not know of them. Placement and prediction need only a rate and a delay. Their states and drains are in
// FabricView, as those of cables are; they have ids by name in site_link_name.h.
#pragma once

#include <cstdint>

#include "fabric/base/units.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric {

struct SiteLink {
  static constexpr float kUsPerKm = 5;  // light in glass, one direction: 299,792 km/s divided by 1.468

  SiteId a, b;              // a < b once built
  std::uint32_t links = 1;  // in parallel
  RateMbps rate;            // of one link, in each direction
  float length_km = 0;      // 0: not known
  float latency_us = 0;     // in one direction

  [[nodiscard]] float usual_latency_us() const { return length_km * kUsPerKm; }
  [[nodiscard]] double total_mbps() const { return static_cast<double>(rate.value()) * links; }
  friend bool operator==(const SiteLink&, const SiteLink&) = default;
};

}  // namespace railweave::fabric
