#include "fabric/routing/audit/column_walk.h"

#include <algorithm>

namespace railweave::fabric {

PortMap::PortMap(const Plane& plane, const FabricView& view)
    : stride(plane.max_ports + 1U),
      arc_of_port(plane.switch_count() * stride, kNothing),
      arc_drained(plane.arcs.size(), 0),
      link_drained(plane.arcs.size(), 0),
      switch_drained(plane.switch_count(), 0),
      destination_alive(plane.destination_count(), 1),
      sources(plane.switch_count(), 0),
      host_sources(plane.switch_count(), 0),
      dead_sources(plane.switch_count(), 0) {
  const Topology& topology = view.topology();
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    switch_drained[s] = view.drained(plane.switches[s]) ? 1 : 0;
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      const Arc& arc = plane.arcs[a];
      const bool alive = view.alive(arc.link);
      arc_of_port[s * stride + arc.port] = alive ? a : kDead;
      arc_drained[a] = alive && !view.carries_transit(arc.link) ? 1 : 0;
      link_drained[a] = view.drained(arc.link) ? 1 : 0;
    }
  }
  for (const Home& home : plane.homes) {
    for (const Segment& segment : plane.segments_of(home)) {
      for (std::uint32_t d = segment.first; d < segment.first + segment.count; ++d) {
        if (segment.kind == DestinationKind::switch_management) continue;
        const PortId port = topology.ports(plane.switches[home.sw])[plane.destination_port[d] - 1U];
        const bool alive = view.alive(topology.link(port));
        destination_alive[d] = alive ? 1 : 0;
        if (segment.lid_offset != 0) continue;
        ++all_sources;
        if (!alive) {
          ++dead_sources[home.sw];
          continue;
        }
        ++sources[home.sw];
        if (segment.kind == DestinationKind::host) ++host_sources[home.sw];
      }
    }
  }
}

ColumnWalk::ColumnWalk(const Plane& plane, const PortMap& ports)
    : plane_(plane), ports_(ports), depth_(plane.switch_count()), arc_(plane.switch_count()) {
  by_depth_.reserve(plane.switch_count());
}

void ColumnWalk::walk(std::uint32_t destination, const std::uint16_t* entries) {
  destination_ = destination;
  entries_ = entries;
  const std::uint32_t home = plane_.homes[plane_.destination_home[destination]].sw;
  std::ranges::fill(depth_, kUnknown);
  for (std::size_t s = 0; s < depth_.size(); ++s) {
    const std::uint16_t port = entries[s];
    arc_[s] = port < ports_.stride ? ports_.arc(s, port) : PortMap::kNothing;
  }
  const bool delivered =
      entries[home] == plane_.destination_port[destination] && ports_.destination_alive[destination] != 0;
  depth_[home] = delivered ? 0 : kLost;
  for (std::uint32_t s = 0; s < depth_.size(); ++s) {
    if (depth_[s] != kUnknown) continue;
    stack_.clear();
    std::uint32_t at = s;
    while (depth_[at] == kUnknown) {
      depth_[at] = kOnStack;
      stack_.push_back(at);
      if (arc_[at] >= PortMap::kDead) break;
      at = plane_.arcs[arc_[at]].to;
    }
    // Lost where the walk stops without a port, or returns to a switch that it has passed.
    std::uint32_t depth = depth_[at] == kOnStack ? std::uint32_t{kLost} : depth_[at];
    while (!stack_.empty()) {
      if (depth != kLost) ++depth;
      if (depth >= kOnStack) depth = kLost;
      depth_[stack_.back()] = static_cast<std::uint16_t>(depth);
      stack_.pop_back();
    }
  }
  order_by_depth();
}

void ColumnWalk::order_by_depth() {
  std::uint16_t deepest = 0;
  for (const std::uint16_t depth : depth_) deepest = depth != kLost ? std::max(deepest, depth) : deepest;
  first_of_depth_.assign(deepest + 2U, 0);
  std::uint32_t arriving = 0;
  for (const std::uint16_t depth : depth_) {
    if (depth == kLost) continue;
    ++arriving;
    ++first_of_depth_[deepest - depth + 1U];
  }
  for (std::size_t i = 1; i < first_of_depth_.size(); ++i) first_of_depth_[i] += first_of_depth_[i - 1];
  by_depth_.resize(arriving);
  for (std::uint32_t s = 0; s < depth_.size(); ++s) {
    if (depth_[s] != kLost) by_depth_[first_of_depth_[deepest - depth_[s]]++] = s;
  }
}

ColumnWalk::Loss ColumnWalk::loss(std::size_t s) const {
  const std::uint32_t home = plane_.homes[plane_.destination_home[destination_]].sw;
  if (ports_.destination_alive[destination_] == 0) return {Reason::destination_cut_off, home};
  auto at = static_cast<std::uint32_t>(s);
  for (std::size_t steps = 0; steps <= depth_.size(); ++steps) {
    const std::uint16_t port = entries_[at];
    if (at == home) return {port == kNoPort ? Reason::no_entry : Reason::wrong_port, at};
    if (port == kNoPort) return {Reason::no_entry, at};
    if (arc_[at] == PortMap::kDead) return {Reason::dead_port, at};
    if (arc_[at] == PortMap::kNothing) {
      const bool delivers = port <= plane_.port_count[at];
      return {delivers ? Reason::wrong_port : Reason::dead_port, at};
    }
    at = plane_.arcs[arc_[at]].to;
  }
  return {Reason::loop, at};
}

}  // namespace railweave::fabric
