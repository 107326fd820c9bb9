// The routes of a job's flows, stored so that the loads after a failure are computed from the changed table entries.
// Borrows the view and the tables before the failure. One per thread.
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
  // Packets of all flows must arrive.
  PatternRoutes(const FabricView& view, const ForwardingTables& tables, std::span<const PatternFlow> flows);

  // The links whose load changes while the link is down, and their load then, in no order; none: the packets of a flow
  // do not arrive. Valid until the next call.
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
