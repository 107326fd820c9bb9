// One connected part of the fabric as cabled: its switches, the cables between them and the destinations on them,
// densely numbered, in the layout that routing works on. Immutable inside a RoutingScope; any number of threads may
// read it.
//
// Numbers are local to the plane:
//   switch s       in order of GUID
//   arc a          a directed link between two switches, in order of (switch it leaves, port)
//   home h         a switch that has destinations, in order of the switches
//   destination d  in order of (home, kind, LID offset, port)
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/destination.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric {

struct Arc {
  std::uint32_t to = 0;       // switch
  std::uint32_t reverse = 0;  // the arc of the same cable in the opposite direction
  LinkId link;
  std::uint16_t port = 0;     // at the switch it leaves
  std::uint16_t to_port = 0;  // at the switch it enters
};

// The destinations of one kind and LID offset on one switch: consecutive numbers, spread over links together.
struct Segment {
  std::uint32_t first = 0;  // destination
  std::uint32_t count = 0;
  std::uint8_t lid_offset = 0;
  DestinationKind kind = DestinationKind::host;
};

struct Home {
  std::uint32_t sw = 0;
  std::uint32_t first = 0;  // destination
  std::uint32_t count = 0;
  std::uint32_t first_segment = 0;
  std::uint32_t segment_count = 0;
  std::uint32_t end_ports = 0;   // ports with an adapter behind them: these send as well as receive
  std::uint32_t host_ports = 0;  // those of them that belong to hosts
};

struct Plane {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<SwitchId> switches;        // local -> fabric, ascending
  std::vector<std::uint32_t> first_arc;  // n + 1 entries
  std::vector<Arc> arcs;
  std::vector<std::uint32_t> arc_rate_mbps;
  std::vector<std::uint16_t> port_count;  // of each switch
  std::vector<std::uint8_t> tier;         // Topology::tier
  std::vector<Home> homes;                // in order of their switch
  std::vector<std::uint32_t> home_of;     // switch -> home; kNone: it has no destinations
  std::vector<Segment> segments;
  std::vector<std::uint32_t> destination_home;  // destination -> home
  std::vector<std::uint16_t> destination_port;  // destination -> the port of its home switch
  std::uint32_t first_destination = 0;          // DestinationId of local destination 0
  std::uint16_t max_ports = 0;

  [[nodiscard]] std::size_t switch_count() const { return switches.size(); }
  [[nodiscard]] std::size_t destination_count() const { return destination_home.size(); }
  [[nodiscard]] std::span<const Arc> arcs_of(std::size_t s) const {
    return std::span(arcs).subspan(first_arc[s], first_arc[s + 1] - first_arc[s]);
  }
  [[nodiscard]] std::span<const Segment> segments_of(const Home& home) const {
    return std::span(segments).subspan(home.first_segment, home.segment_count);
  }
  // The arc by which packets leave switch s at a port; kNone: the port leads to no switch. O(log ports).
  [[nodiscard]] std::uint32_t find_arc(std::size_t s, std::uint16_t port) const {
    const auto of_switch = arcs_of(s);
    const auto found = std::ranges::lower_bound(of_switch, port, {}, &Arc::port);
    if (found == of_switch.end() || found->port != port) return kNone;
    return first_arc[s] + static_cast<std::uint32_t>(found - of_switch.begin());
  }
  [[nodiscard]] DestinationId destination(std::size_t local) const { return DestinationId(first_destination + local); }
};

// The links between the plane's switches, ascending.
inline std::vector<LinkId> links_of(const Plane& plane) {
  std::vector<LinkId> links;
  for (const Arc& arc : plane.arcs) links.push_back(arc.link);
  std::ranges::sort(links);
  links.erase(std::ranges::unique(links).begin(), links.end());
  return links;
}

}  // namespace railweave::fabric
