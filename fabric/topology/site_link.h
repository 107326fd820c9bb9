// What joins two sites: long-haul links, known by what they carry together, not cable by cable.
//
// They are a table beside the fabric's links, not links between switches: sites are subnets of their own, joined by
// routers or at the IP level, so no forwarding table, LID or deadlock rule reaches across, and routing engines, audits
// and sweeps need not know of them. What placement and prediction need of them is a rate and a delay. The price: they
// have no state of their own; one that fails is an import with fewer links.
#pragma once

#include <cstdint>

#include "fabric/base/units.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric {

struct SiteLink {
  static constexpr float kUsPerKm = 5;  // light in glass, one way: 299,792 km/s by 1.468

  SiteId a, b;              // a < b once built
  std::uint32_t links = 1;  // side by side
  RateMbps rate;            // of one of them, each way
  float length_km = 0;      // 0: not known
  float latency_us = 0;     // one way

  [[nodiscard]] float usual_latency_us() const { return length_km * kUsPerKm; }
  [[nodiscard]] double total_mbps() const { return static_cast<double>(rate.value()) * links; }
  friend bool operator==(const SiteLink&, const SiteLink&) = default;
};

}  // namespace railweave::fabric
