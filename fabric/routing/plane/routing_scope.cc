#include "fabric/routing/plane/routing_scope.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>

namespace railweave::fabric {

namespace {

DestinationKind kind_of(HcaKind kind) {
  switch (kind) {
    case HcaKind::host:
      return DestinationKind::host;
    case HcaKind::aggregation:
      return DestinationKind::aggregation;
    case HcaKind::router:
      return DestinationKind::router;
  }
  return DestinationKind::host;
}

}  // namespace

Result<RoutingScopePtr> RoutingScope::make(TopologyPtr topology, const ScopeOptions& options) {
  std::shared_ptr<RoutingScope> scope(new RoutingScope());
  scope->topology_ = std::move(topology);
  scope->lmc_ = options.lmc;
  scope->number_planes();
  if (auto numbered = scope->number_destinations(options); !numbered) return std::unexpected(numbered.error());
  scope->lay_out_planes();
  scope->assign_lids();
  return scope;
}

// Planes are the connected parts of the switch graph, in order of their first switch.
void RoutingScope::number_planes() {
  const Topology& t = *topology_;
  plane_of_switch_.assign(t.switches().size(), PlaneId());
  local_switch_.assign(t.switches().size(), 0);
  std::vector<SwitchId> queue;
  for (const SwitchId first : t.switches()) {
    if (plane_of_switch_[first.index()]) continue;
    const PlaneId plane(planes_.size());
    planes_.emplace_back();
    queue.assign(1, first);
    plane_of_switch_[first.index()] = plane;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const PortId port : t.ports(queue[next])) {
        const PortId peer = t.peer(port);
        const SwitchId other = peer ? t.switch_of(peer) : SwitchId();
        if (!other || plane_of_switch_[other.index()]) continue;
        plane_of_switch_[other.index()] = plane;
        queue.push_back(other);
      }
    }
  }
  for (const SwitchId sw : t.switches()) {
    auto& switches = planes_[plane_of_switch_[sw.index()].index()].switches;
    local_switch_[sw.index()] = static_cast<std::uint32_t>(switches.size());
    switches.push_back(sw);
  }
}

Result<void> RoutingScope::number_destinations(const ScopeOptions& options) {
  const Topology& t = *topology_;
  const auto too_many = [] {
    return fail(ErrorKind::tooLarge, "routing.tooManyDestinations",
                fmt::format("the fabric has more than {} LIDs to route", kMaxDestinations), {},
                "lower the LMC, or route its subnets on their own");
  };
  std::vector<Destination> here;
  for (auto& plane : planes_) {
    plane.first_destination = static_cast<std::uint32_t>(destinations_.size());
    for (const SwitchId sw : plane.switches) {
      here.clear();
      const auto add = [&](Destination destination, std::size_t lmc_bits) {
        for (unsigned offset = 0; offset < 1U << std::min(lmc_bits, kMaxLmc); ++offset) {
          destination.lid_offset = static_cast<std::uint8_t>(offset);
          here.push_back(destination);
        }
      };
      if (options.switch_management) add({PortId(), sw, 0, 0, DestinationKind::switch_management}, t.lmc(sw));
      std::uint16_t number = 0;
      for (const PortId port : t.ports(sw)) {
        ++number;
        const PortId peer = t.peer(port);
        const HcaId hca = peer ? t.hca_of(peer) : HcaId();
        if (!hca) continue;
        const DestinationKind kind = kind_of(t.kind(hca));
        if (kind == DestinationKind::aggregation && !options.aggregation_nodes) continue;
        add({peer, sw, number, 0, kind}, lmc(peer));
      }
      std::ranges::sort(here, {}, [](const Destination& d) { return std::tuple(d.kind, d.lid_offset, d.out_port); });
      if (destinations_.size() + here.size() > kMaxDestinations) return too_many();
      destinations_.insert(destinations_.end(), here.begin(), here.end());
    }
  }
  const auto hca_ports = t.hca_ports();
  destination_of_port_.assign(hca_ports.size(), DestinationId());
  for (std::size_t i = destinations_.size(); i-- > 0;) {
    const Destination& d = destinations_[i];
    if (d.port && d.lid_offset == 0) {
      destination_of_port_[d.port.index() - hca_ports.front().index()] = DestinationId(i);
    }
  }
  return {};
}

void RoutingScope::lay_out_planes() {
  std::vector<std::uint32_t> arc_of_port(topology_->switch_ports().size());
  link_arc_.assign(topology_->links().size(), LinkArc());
  std::size_t next = 0;  // destination
  for (auto& plane : planes_) {
    const std::size_t switches = plane.switches.size();
    plane.first_arc.reserve(switches + 1);
    plane.home_of.assign(switches, Plane::kNone);
    for (std::uint32_t s = 0; s < switches; ++s) {
      add_arcs(plane, s, arc_of_port);
      next = add_home(plane, s, next);
    }
    plane.first_arc.push_back(static_cast<std::uint32_t>(plane.arcs.size()));
    join_arcs(plane, arc_of_port);
  }
}

// Switch s with its arcs, whose `reverse` is not known yet.
void RoutingScope::add_arcs(Plane& plane, std::uint32_t s, std::vector<std::uint32_t>& arc_of_port) const {
  const Topology& t = *topology_;
  const SwitchId sw = plane.switches[s];
  plane.first_arc.push_back(static_cast<std::uint32_t>(plane.arcs.size()));
  plane.tier.push_back(t.tier(sw));
  plane.port_count.push_back(static_cast<std::uint16_t>(t.ports(sw).size()));
  plane.max_ports = std::max(plane.max_ports, plane.port_count.back());
  std::uint16_t number = 0;
  for (const PortId port : t.ports(sw)) {
    ++number;
    const PortId peer = t.peer(port);
    const SwitchId other = peer ? t.switch_of(peer) : SwitchId();
    if (!other || other == sw) continue;  // a cable back to the same switch routes nothing
    arc_of_port[port.index()] = static_cast<std::uint32_t>(plane.arcs.size());
    const auto to_port = static_cast<std::uint16_t>(peer.index() - t.ports(other).front().index() + 1);
    plane.arcs.push_back({local_switch_[other.index()], 0, t.link(port), number, to_port});
    const std::int64_t rate = t.rate(t.link(port)).value();
    plane.arc_rate_mbps.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(rate, 0, UINT32_MAX)));
  }
}

// Switch s as a home, if it has destinations: those of destinations_ from `next` on. Returns the first that is another
// switch's.
std::size_t RoutingScope::add_home(Plane& plane, std::uint32_t s, std::size_t next) const {
  Home home{.sw = s, .first = static_cast<std::uint32_t>(plane.destination_home.size())};
  home.first_segment = static_cast<std::uint32_t>(plane.segments.size());
  for (; next < destinations_.size() && destinations_[next].home == plane.switches[s]; ++next) {
    const Destination& d = destinations_[next];
    const bool same = home.segment_count > 0 && plane.segments.back().kind == d.kind &&
                      plane.segments.back().lid_offset == d.lid_offset;
    if (!same) {
      plane.segments.push_back({static_cast<std::uint32_t>(plane.destination_home.size()), 0, d.lid_offset, d.kind});
      ++home.segment_count;
    }
    ++plane.segments.back().count;
    plane.destination_home.push_back(static_cast<std::uint32_t>(plane.homes.size()));
    plane.destination_port.push_back(d.out_port);
    ++home.count;
    if (d.lid_offset == 0 && d.kind != DestinationKind::switch_management) ++home.end_ports;
    if (d.lid_offset == 0 && d.kind == DestinationKind::host) ++home.host_ports;
  }
  if (home.count > 0) {
    plane.home_of[s] = static_cast<std::uint32_t>(plane.homes.size());
    plane.homes.push_back(home);
  }
  return next;
}

// The two arcs of every cable, and the arc of every link.
void RoutingScope::join_arcs(Plane& plane, const std::vector<std::uint32_t>& arc_of_port) {
  const Topology& t = *topology_;
  for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      const PortId port = t.ports(plane.switches[s])[plane.arcs[a].port - 1U];
      plane.arcs[a].reverse = arc_of_port[t.peer(port).index()];
      if (port < t.peer(port)) {
        link_arc_[plane.arcs[a].link.index()] = {plane_of_switch_[plane.switches[s].index()], a};
      }
    }
  }
}

std::size_t RoutingScope::lmc(PortId end_port) const {
  if (lmc_ && topology_->kind(topology_->hca_of(end_port)) == HcaKind::host) return *lmc_;
  return topology_->lmc(end_port);
}

DestinationId RoutingScope::find(PortId end_port) const {
  const auto ports = topology_->hca_ports();
  if (ports.empty() || !topology_->is_hca_port(end_port)) return {};
  return destination_of_port_[end_port.index() - ports.front().index()];
}

DestinationId RoutingScope::find(PortId end_port, unsigned lid_offset) const {
  const DestinationId first = find(end_port);
  if (!first || lid_offset == 0) return first;
  const Destination& d = destination(first);
  const Plane& plane = planes_[plane_of(first).index()];
  for (const Segment& segment : plane.segments_of(plane.homes[plane.destination_home[local(first)]])) {
    if (segment.kind != d.kind || segment.lid_offset != lid_offset) continue;
    const auto ports = std::span(plane.destination_port).subspan(segment.first, segment.count);
    const auto at = std::ranges::lower_bound(ports, d.out_port);
    if (at == ports.end() || *at != d.out_port) break;
    return plane.destination(segment.first + static_cast<std::size_t>(at - ports.begin()));
  }
  return {};
}

unsigned RoutingScope::lid_count(PortId end_port) const { return 1U << std::min(lmc(end_port), kMaxLmc); }

}  // namespace railweave::fabric
