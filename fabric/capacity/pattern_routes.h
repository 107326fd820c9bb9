// The routes of a job's flows, kept so that what a failure makes of them is found from the entries that differ. Borrows
// the view, and the tables before a failure. One per thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/capacity/pattern_load.h"
#include "fabric/capacity/route_changes.h"

namespace railweave::fabric {

class PatternRoutes {
 public:
  // All of them arrive.
  PatternRoutes(const FabricView& view, const ForwardingTables& tables, std::span<const PatternFlow> flows);

  // Where the load is another one with the link down, and what it is there; none: a flow does not arrive. In no order.
  // Good until the next call.
  std::optional<std::span<const LinkLoad>> loads_without(LinkId link, const RouteChanges& changes);

 private:
  struct Flow {
    std::uint32_t destination = 0, first = 0, count = 0;  // DestinationId; its path in links_
    std::int64_t mbps = 0;
    EndPortPair ports;
  };
  bool walk(const Flow& flow, LinkId without, const RouteChanges& changes);
  void note(DirectedLink link, std::int64_t mbps);

  const FabricView& view_;
  const ForwardingTables& tables_;
  std::vector<Flow> flows_;  // by destination
  std::vector<DirectedLink> links_;
  std::vector<std::int64_t> load_, moved_;  // by directed link
  std::vector<DirectedLink> path_, touched_;
  std::vector<LinkLoad> changed_;
};

}  // namespace railweave::fabric
