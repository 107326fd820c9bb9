// The largest load that a job's ports can put on each directed link, whatever they send each other, along the routes
// that the forwarding tables give (the hose model: Duffield et al., SIGCOMM 1999).
//
// For one link this is a maximum b-matching over the (source, target) pairs whose route crosses it, at most the smaller
// of what these sources send and what these targets receive. The bound is exact where every such source crosses the
// link to every such target. That is so on every link of a healthy d-mod-k fat tree, and is checked by comparing the
// sets of sources target by target; only the other links, after failures, take a maximum flow. Sources on one switch
// share all routes and count as one, and switches that forward alike are followed together (first_hops.h).
//
// Of planes whose subnet spreads packets over several paths it is the bound of spread_load.h.
//
// The parts: EgressMap (the cabling), PlaneHose (the job), DigestWalk (its packets, recorded in LinkUses), EntryLoads
// and UnevenLinks (loads). Targets are destinations of LID offset 0. Ports in different planes never meet.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/capacity/load_vector.h"
#include "fabric/routing/plane/forwarding_tables.h"

namespace railweave::fabric {

struct HosePort {
  PortId port;                    // an adapter's
  std::int64_t send_mbps = 0;     // at least 0
  std::int64_t receive_mbps = 0;  // at least 0
  friend bool operator==(const HosePort&, const HosePort&) = default;
};

enum class HoseMethod : std::uint8_t {
  exact,  // a maximum flow where the bound may be above it
  bound,  // the smaller of the sums throughout: never less than exact
};

struct HoseLoad {
  LoadVector loads;
  std::size_t flow_links = 0;   // links that took a maximum flow
  std::uint64_t unrouted = 0;   // (source switch, target) pairs of one plane whose packets do not arrive
  std::vector<PortId> cut_off;  // ports without a live cable, or not routed to: nothing is guaranteed at them
  [[nodiscard]] bool complete() const { return unrouted == 0 && cut_off.empty(); }
};

// Owns scratch memory, so use one per thread.
class HoseLoads {
 public:
  // Borrows nothing but the tables' and the view's shared parts. O(switch ports + links).
  HoseLoads(const FabricView& view, ForwardingTables tables);
  HoseLoads(HoseLoads&&) noexcept;
  HoseLoads& operator=(HoseLoads&&) noexcept;
  ~HoseLoads();

  // Ports named twice count once, with the first rates. O(targets x bundles of source switches).
  [[nodiscard]] HoseLoad load(std::span<const HosePort> ports, HoseMethod method = HoseMethod::exact);

  [[nodiscard]] const ForwardingTables& tables() const;
  [[nodiscard]] const FabricView& view() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace railweave::fabric
