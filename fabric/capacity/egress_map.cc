#include "fabric/capacity/egress_map.h"

#include <algorithm>
#include <span>
#include <unordered_map>

namespace railweave::fabric {

EgressMap::EgressMap(const FabricView& view, const RoutingScope& scope) : first_port_{0} {
  const Topology& t = view.topology();
  std::unordered_multimap<std::uint64_t, std::uint32_t> known;  // hash of neighbours -> the first switch of a class
  class_of_.resize(t.switches().size());
  for (const SwitchId id : t.switches()) {
    const bool has_hosts = append_ports(view, id);
    first_port_.push_back(static_cast<std::uint32_t>(next_hops_.size()));
    if (!has_hosts) continue;  // no source is on it
    const std::uint32_t sw = id.value();
    const PlaneId plane = scope.plane_of(id);
    const std::uint64_t hash = hash_of(sw, plane);
    auto [at, end] = known.equal_range(hash);
    while (at != end && (scope.plane_of(SwitchId(at->second)) != plane || !equal_neighbours(at->second, sw))) ++at;
    if (at != end) {
      class_of_[sw] = class_of_[at->second];
    } else {
      class_of_[sw] = class_count_++;
      known.emplace(hash, sw);
    }
  }
}

// Returns whether one of the ports leads to a host.
bool EgressMap::append_ports(const FabricView& view, SwitchId sw) {
  const Topology& t = view.topology();
  bool has_hosts = false;
  for (const PortId port : t.ports(sw)) {
    NextHop next;
    const PortId peer = t.peer(port);
    if (peer && view.alive(t.link(port))) {
      next.link = directed_link(t, port);
      if (t.is_switch_port(peer)) {
        next.sw = t.switch_of(peer).value();
      } else {
        has_hosts = true;
      }
    }
    next_hops_.push_back(next);
  }
  return has_hosts;
}

std::uint64_t EgressMap::hash_of(std::uint32_t sw, PlaneId plane) const {
  std::uint64_t hash = plane.value();
  for (std::uint32_t i = first_port_[sw]; i < first_port_[sw + 1]; ++i) {
    hash = (hash ^ next_hops_[i].sw) * 0xFF51AFD7ED558CCDULL, hash ^= hash >> 32U;
  }
  return hash;
}

bool EgressMap::equal_neighbours(std::uint32_t a, std::uint32_t b) const {
  const auto of = [this](std::uint32_t sw) {
    return std::span(next_hops_).subspan(first_port_[sw], first_port_[sw + 1] - first_port_[sw]);
  };
  return std::ranges::equal(of(a), of(b), {}, &NextHop::sw, &NextHop::sw);
}

}  // namespace railweave::fabric
