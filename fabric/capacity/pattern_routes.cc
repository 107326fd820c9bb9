#include "fabric/capacity/pattern_routes.h"

#include <algorithm>

namespace railweave::fabric {

PatternRoutes::PatternRoutes(const FabricView& view, const ForwardingTables& tables, std::span<const PatternFlow> flows)
    : view_(view),
      tables_(tables),
      load_(directed_link_count(view.topology())),
      moved_(directed_link_count(view.topology())) {
  const PathWalker walker(view, tables);
  for (const PatternFlow& flow : flows) {
    if (flow.mbps <= 0) continue;
    Flow one{.destination = tables.scope().find(flow.ports.to).value(), .mbps = flow.mbps, .ports = flow.ports};
    one.first = static_cast<std::uint32_t>(links_.size());
    (void)walker.append(flow.ports, links_);
    one.count = static_cast<std::uint32_t>(links_.size() - one.first);
    for (std::uint32_t i = 0; i < one.count; ++i) load_[links_[one.first + i]] += flow.mbps;
    flows_.push_back(one);
  }
  std::ranges::stable_sort(flows_, {}, &Flow::destination);
}

bool PatternRoutes::walk(const Flow& flow, LinkId without, const RouteChanges& changes) {
  const Topology& t = view_.topology();
  const RoutingScope& scope = tables_.scope();
  const auto changed = changes.of(flow.destination - scope.plane(changes.plane).first_destination);
  path_.clear();
  PortId out = flow.ports.from;
  for (unsigned hop = 0; hop <= t.switches().size(); ++hop) {
    const LinkId link = t.link(out);
    if (!link || !view_.alive(link) || link == without) return false;
    path_.push_back(directed_link(t, out));
    const PortId in = t.peer(out);
    if (in == flow.ports.to) return true;
    if (!t.is_switch_port(in)) return false;
    const SwitchId sw = t.switch_of(in);
    std::uint16_t port = tables_.out_port(sw, DestinationId(flow.destination));
    const auto at = std::ranges::lower_bound(changed, scope.local(sw), {}, &EntryChange::sw);
    if (at != changed.end() && at->sw == scope.local(sw)) port = at->port;
    if (port == kNoPort || port == kPortZero || port > t.ports(sw).size()) return false;
    out = t.ports(sw)[port - 1U];
  }
  return false;
}

void PatternRoutes::note(DirectedLink link, std::int64_t mbps) {
  if (moved_[link] == 0) touched_.push_back(link);
  moved_[link] += mbps;
}

std::optional<std::span<const LinkLoad>> PatternRoutes::loads_without(LinkId link, const RouteChanges& changes) {
  const std::uint32_t first = tables_.scope().plane(changes.plane).first_destination;
  touched_.clear();
  changed_.clear();
  bool whole = true;
  std::int64_t remaining = load_[link.index() * 2] + load_[link.index() * 2 + 1];  // on the link that is down
  for (auto at = changes.entries.begin(); at != changes.entries.end();) {
    const std::uint32_t local = at->destination;
    while (at != changes.entries.end() && at->destination == local) ++at;
    const auto flows = std::ranges::equal_range(flows_, first + local, {}, &Flow::destination);
    for (const Flow& flow : flows) {
      whole = whole && walk(flow, link, changes);
      if (!whole) break;
      for (std::uint32_t i = flow.first; i < flow.first + flow.count; ++i) {
        note(links_[i], -flow.mbps);
        if (link_of(links_[i]) == link) remaining -= flow.mbps;
      }
      for (const DirectedLink hop : path_) note(hop, flow.mbps);
    }
  }
  for (const DirectedLink hop : touched_) {
    if (moved_[hop] != 0) changed_.push_back({hop, load_[hop] + moved_[hop]});
    moved_[hop] = 0;
  }
  if (!whole || remaining != 0) return std::nullopt;
  return changed_;
}

}  // namespace railweave::fabric
