// The route of one packet, hop by hop, as the tables send it: what `railweave routes path` prints. Independent of the
// engine that made the tables. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

enum class TraceEnd : std::uint8_t {
  arrived,
  source_cut_off,       // the sending port has no live cable
  destination_cut_off,  // the last cable is down
  other_plane,          // no cables connect the two
  no_entry,             // the last switch has no port for the destination
  dead_port,            // the last switch sends it to a port without a live cable
  wrong_port,           // the last switch delivers it to another end port
  loop,                 // the packet had passed the last switch before
};
BOOST_DESCRIBE_ENUM(TraceEnd, arrived, source_cut_off, destination_cut_off, other_plane, no_entry, dead_port,
                    wrong_port, loop)

struct TraceHop {
  PortId out;         // the port that the packet leaves by: first the sending adapter's, then a switch's
  PortId in;          // the port at the other end of the cable
  unsigned lane = 0;  // virtual lane on the cable, before QoS multiplies lanes
};

struct RouteTrace {
  std::vector<TraceHop> hops;
  TraceEnd end = TraceEnd::arrived;
  unsigned service_level = 0;
};

// from: an end port (of an adapter). O(hops).
RouteTrace trace_route(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes, PortId from,
                       DestinationId to);

}  // namespace railweave::fabric
