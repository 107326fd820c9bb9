// The way of one packet, hop by hop, as the tables send it: what `railweave routes path` prints. Knows nothing of how
// the tables were made. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

enum class TraceEnd : std::uint8_t {
  arrived,
  source_cut_off,       // the sending port has no live cable
  destination_cut_off,  // the last cable is down
  other_plane,          // no cables join the two
  no_entry,             // the last switch has no port for the destination
  dead_port,            // the last switch sends it to a port without a live cable
  wrong_port,           // the last switch delivers it to another end port
  loop,                 // the last switch was passed before
};
std::string_view to_string(TraceEnd end);

struct TraceHop {
  PortId out;         // the port it leaves by: the sending adapter's first, then a switch's
  PortId in;          // the port it enters next
  unsigned lane = 0;  // virtual lane on the cable, before it is multiplied by QoS levels
};

struct RouteTrace {
  std::vector<TraceHop> hops;
  TraceEnd end = TraceEnd::arrived;
  unsigned service_level = 0;
};

// from: an end port (an adapter's). O(hops).
RouteTrace trace_route(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes, PortId from,
                       DestinationId to);

}  // namespace railweave::fabric
