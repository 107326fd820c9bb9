#include "fabric/flow/flow_paths.h"

#include <array>
#include <limits>

namespace railweave::fabric {

struct PathWalker::Walk {
  static constexpr std::size_t kShortPath = 16;
  const PlaneTables* tables = nullptr;
  const RoutingScope* scope = nullptr;
  std::uint32_t sw = 0;           // of the topology
  std::uint32_t destination = 0;  // of the plane
  std::uint32_t last_link = 0;    // into the destination's port
  std::size_t max_hops = 0;       // remaining: more than one per switch is a loop
  std::vector<DirectedLink> links;
};

PathWalker::PathWalker(const FabricView& view, const ForwardingTables& tables)
    : topology_(&view.topology()), tables_(&tables) {
  const Topology& t = *topology_;
  alive_.resize(t.links().size());
  for (const LinkId link : t.links()) alive_[link.index()] = view.alive(link) ? 1 : 0;
  first_port_.reserve(t.switches().size() + 1);
  first_port_.push_back(0);
  next_hops_.resize(t.switch_ports().size());
  for (const SwitchId sw : t.switches()) {
    for (const PortId port : t.ports(sw)) {
      const PortId peer = t.peer(port);
      if (!peer || !alive_[t.link(port).index()]) continue;
      const SwitchId next = t.switch_of(peer);
      next_hops_[port.index()] = {next ? next.value() : kNoSwitch, directed_link(t, port)};
    }
    first_port_.push_back(static_cast<std::uint32_t>(first_port_.back() + t.ports(sw).size()));
  }
}

bool PathWalker::start(EndPortPair pair, Walk& walk) const {
  const Topology& t = *topology_;
  const RoutingScope& scope = tables_->scope();
  walk.links.clear();
  const PortId first = t.peer(pair.from), last = t.peer(pair.to);
  if (!first || !last || pair.from == pair.to || !alive_[t.link(pair.from).index()]) return false;
  const SwitchId sw = t.switch_of(first);
  const DestinationId to = scope.find(pair.to);
  if (!sw || !to) return false;
  const PlaneId plane = scope.plane_of(sw);
  if (scope.plane_of(to) != plane) return false;
  walk.tables = &tables_->plane(plane);
  if (walk.tables->switches() == 0) return false;
  walk.scope = &scope;
  walk.sw = sw.value();
  walk.destination = scope.local(to);
  walk.last_link = directed_link(t, last);
  walk.max_hops = walk.tables->switches();
  walk.links.push_back(directed_link(t, pair.from));
  return true;
}

PathWalker::Step PathWalker::step(Walk& walk) const {
  if (walk.max_hops-- == 0) return Step::lost;
  const std::uint16_t number = walk.tables->at(walk.scope->local(SwitchId(walk.sw)), walk.destination);
  const std::uint32_t first = first_port_[walk.sw];
  if (number == kNoPort || number == kPortZero || number > first_port_[walk.sw + 1] - first) return Step::lost;
  const NextHop& hop = next_hops_[first + number - 1];
  if (hop.link == UINT32_MAX) return Step::lost;
  walk.links.push_back(hop.link);
  if (hop.sw == kNoSwitch) return hop.link == walk.last_link ? Step::arrived : Step::lost;
  walk.sw = hop.sw;
  return Step::on;
}

bool PathWalker::append(EndPortPair pair, std::vector<DirectedLink>& out) const {
  Walk walk;
  walk.links.reserve(Walk::kShortPath);
  if (!start(pair, walk)) return false;
  Step at = Step::on;
  while (at == Step::on) at = step(walk);
  if (at == Step::lost) return false;
  out.insert(out.end(), walk.links.begin(), walk.links.end());
  return true;
}

FlowPaths PathWalker::paths(std::span<const EndPortPair> pairs) const {
  constexpr std::size_t kTogether = 64;
  FlowPaths result;
  result.first.reserve(pairs.size() + 1);
  result.links.reserve(pairs.size() * 6);
  std::array<Walk, kTogether> walks;
  for (std::size_t from = 0; from < pairs.size(); from += kTogether) {
    const std::size_t count = std::min(kTogether, pairs.size() - from);
    std::array<Step, kTogether> at{};
    for (std::size_t i = 0; i < count; ++i) at[i] = start(pairs[from + i], walks[i]) ? Step::on : Step::lost;
    for (bool moving = true; moving;) {
      moving = false;
      for (std::size_t i = 0; i < count; ++i) {
        if (at[i] != Step::on) continue;
        at[i] = step(walks[i]);
        moving = moving || at[i] == Step::on;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (at[i] == Step::arrived) {
        result.links.insert(result.links.end(), walks[i].links.begin(), walks[i].links.end());
      } else {
        ++result.unrouted;
      }
      result.first.push_back(static_cast<std::uint32_t>(result.links.size()));
    }
  }
  return result;
}

}  // namespace railweave::fabric
