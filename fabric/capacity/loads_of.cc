#include "fabric/capacity/loads_of.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "fabric/capacity/hose_routes.h"
#include "fabric/capacity/pattern_routes.h"
#include "fabric/capacity/spread_load.h"

namespace railweave::fabric {
namespace {

// The flows to each plane.
std::map<PlaneId, std::vector<PatternFlow>> flows_by_plane(const RoutingScope& scope,
                                                           std::span<const PatternFlow> flows) {
  std::map<PlaneId, std::vector<PatternFlow>> by_plane;
  for (const PatternFlow& flow : flows) {
    const DestinationId to = scope.find(flow.ports.to);
    by_plane[to ? scope.plane_of(to) : PlaneId()].push_back(flow);
  }
  return by_plane;
}

// Whether the flow's ports are joined to the plane by cables that work, so that only its switches are left to ask.
bool is_attached(const FabricView& view, const ForwardingTables& tables, PlaneId plane, EndPortPair pair) {
  const Topology& t = view.topology();
  const RoutingScope& scope = tables.scope();
  return std::ranges::all_of(std::array{pair.from, pair.to}, [&](PortId port) {
    const DestinationId id = scope.find(port);
    return id && scope.plane_of(id) == plane && view.alive(t.link(port)) &&
           tables.out_port(scope.destination(id).home, id) == scope.destination(id).out_port;
  });
}

PatternLoad spread_pattern(const FabricView& view, const ForwardingTables& tables, PlaneId plane,
                           std::vector<PatternFlow> flows) {
  const std::size_t all = flows.size();
  std::erase_if(flows, [&](const PatternFlow& one) { return !is_attached(view, tables, plane, one.ports); });
  SpreadLoad load = SpreadLoads(view, tables, plane).pattern(flows);
  return {std::move(load.loads), all - flows.size() + load.unrouted};
}

PatternLoad whole_pattern(const Reservation& reservation, const HoseLoads& loads, const PathWalker& walker) {
  const RoutingScope& scope = loads.tables().scope();
  const auto is_single = [&](PlaneId plane) {
    return !plane || spread_of(loads.view(), scope, plane) == PathSpread::single;
  };
  if (std::ranges::all_of(scope.planes(), is_single)) return pattern_load(walker, reservation.flows);
  PatternLoad sum;
  for (auto& [plane, flows] : flows_by_plane(scope, reservation.flows)) {
    PatternLoad one = is_single(plane) ? pattern_load(walker, flows)
                                       : spread_pattern(loads.view(), loads.tables(), plane, std::move(flows));
    sum.loads.insert(sum.loads.end(), one.loads.begin(), one.loads.end());
    sum.unrouted += one.unrouted;
  }
  // A flow that does not arrive loads nothing, so the planes' loads are of different links.
  sort_by_link(sum.loads);
  return sum;
}

PromisedLoad whole_load(const Reservation& reservation, HoseLoads& loads, const PathWalker& walker) {
  if (reservation.promise == TrafficPromise::hose) {
    HoseLoad hose = loads.load(reservation.ports);
    const bool complete = hose.complete();
    return {std::move(hose.loads), complete, hose.flow_links};
  }
  PatternLoad pattern = whole_pattern(reservation, loads, walker);
  return {std::move(pattern.loads), pattern.unrouted == 0, 0};
}

void scale_to_reserved(LoadVector& loads, std::uint32_t permille) {
  if (permille >= 1000) return;
  for (LinkLoad& load : loads) load.mbps = (load.mbps * permille + 999) / 1000;
}

// The ports in one plane, each once, with the first rates.
std::vector<HosePort> ports_in(const RoutingScope& scope, PlaneId plane, std::vector<HosePort> ports) {
  std::erase_if(ports, [&](const HosePort& port) { return scope.plane_of(scope.find(port.port)) != plane; });
  std::ranges::stable_sort(ports, {}, &HosePort::port);
  ports.erase(std::unique(ports.begin(), ports.end(), [](auto& a, auto& b) { return a.port == b.port; }), ports.end());
  return ports;
}

// The largest load of each directed link.
class Worst {
 public:
  Worst(const Topology& topology, const LoadVector& from) : mbps_(directed_link_count(topology)) { include(from); }
  void include(std::span<const LinkLoad> loads) {
    for (const LinkLoad& load : loads) mbps_[load.link] = std::max(mbps_[load.link], load.mbps);
  }
  [[nodiscard]] LoadVector loads() const {
    LoadVector all;
    for (DirectedLink link = 0; link < mbps_.size(); ++link) {
      if (mbps_[link] > 0) all.push_back({link, mbps_[link]});
    }
    return all;
  }

 private:
  std::vector<std::int64_t> mbps_;
};

// The loads of a reservation after failures of links of one plane.
struct AfterFailures {
  const Reservation& reservation;
  const HoseLoads& loads;
  const FailureRoutes& failures;

  Result<void> single(PlaneId plane, const std::vector<LinkId>& links, Worst& worst, SurvivingLoad& result) const {
    const auto& tables = loads.tables();
    std::optional<HoseRoutes> hose;
    std::optional<PatternRoutes> pattern;
    if (reservation.promise == TrafficPromise::pattern) {
      const auto flows = flows_by_plane(tables.scope(), reservation.flows);
      pattern.emplace(loads.view(), tables, flows.contains(plane) ? flows.at(plane) : std::vector<PatternFlow>());
    } else {
      hose.emplace(loads.view(), tables, plane, ports_in(tables.scope(), plane, reservation.ports));
    }
    for (const LinkId link : links) {
      const auto changes = failures.changes_without(link);
      if (!changes) return std::unexpected(changes.error());
      const auto after = pattern ? pattern->loads_without(link, **changes) : hose->loads_without(link, **changes);
      (after ? result.covered : result.not_covered).push_back(link);
      if (after) worst.include(*after);
    }
    return {};
  }

  Result<void> spread(PlaneId plane, const std::vector<LinkId>& links, Worst& worst, SurvivingLoad& result) const {
    const auto& tables = loads.tables();
    SpreadLoads routes(loads.view(), tables, plane);
    const bool is_pattern = reservation.promise == TrafficPromise::pattern;
    const auto ports = is_pattern ? std::vector<HosePort>() : ports_in(tables.scope(), plane, reservation.ports);
    auto flows = flows_by_plane(tables.scope(), reservation.flows);
    for (const LinkId link : links) {
      const auto changes = failures.changes_without(link);
      if (!changes) return std::unexpected(changes.error());
      routes.fail(link, changes->get());
      const SpreadLoad after = is_pattern ? routes.pattern(flows[plane]) : routes.hose(ports);
      (after.unrouted == 0 ? result.covered : result.not_covered).push_back(link);
      if (after.unrouted == 0) worst.include(after.loads);
    }
    return {};
  }
};

}  // namespace

PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads, const PathWalker& walker) {
  PromisedLoad result = whole_load(reservation, loads, walker);
  scale_to_reserved(result.loads, reservation.reserved_permille);
  return result;
}

std::vector<LinkId> failures_that_matter(const FabricView& view, const ForwardingTables& tables,
                                         const LoadVector& plain,
                                         const std::function<std::vector<LinkId>(PlaneId)>& far_reaching) {
  const Topology& t = view.topology();
  std::vector<LinkId> links;
  std::set<PlaneId> planes;
  for (const LinkLoad& load : plain) {
    const LinkId link = link_of(load.link);
    if (t.joins_switches(link)) links.push_back(link);
    const PortId out = out_port_of(t, load.link);
    const PortId at = t.is_switch_port(out) ? out : t.peer(out);
    if (at && t.is_switch_port(at)) planes.insert(tables.scope().plane_of(t.switch_of(at)));
  }
  for (const PlaneId plane : planes) {
    for (const LinkId link : far_reaching(plane)) {
      if (view.alive(link)) links.push_back(link);
    }
  }
  std::ranges::sort(links);
  links.erase(std::ranges::unique(links).begin(), links.end());
  return links;
}

Result<SurvivingLoad> load_surviving_failures(const Reservation& reservation, HoseLoads& loads,
                                              const FailureRoutes& failures) {
  SurvivingLoad result;
  const FabricView& view = loads.view();
  const ForwardingTables& tables = loads.tables();
  const RoutingScope& scope = tables.scope();
  result.worst = whole_load(reservation, loads, PathWalker(view, tables));
  for (const LinkLoad& load : result.worst.loads) {
    const LinkId link = link_of(load.link);
    if (result.worst.complete && view.topology().joins_switches(link)) continue;
    if (result.not_covered.empty() || result.not_covered.back() != link) result.not_covered.push_back(link);
  }
  std::map<PlaneId, std::vector<LinkId>> by_plane;
  if (result.worst.complete) {
    for (const LinkId link : failures_that_matter(view, tables, result.worst.loads, failures.far_reaching)) {
      by_plane[scope.arc_of(link).plane].push_back(link);
    }
  }
  Worst worst(view.topology(), result.worst.loads);
  const AfterFailures after{reservation, loads, failures};
  for (const auto& [plane, links] : by_plane) {
    const bool is_single = spread_of(view, scope, plane) == PathSpread::single;
    const auto added =
        is_single ? after.single(plane, links, worst, result) : after.spread(plane, links, worst, result);
    if (!added) return std::unexpected(added.error());
  }
  std::ranges::sort(result.covered);
  std::ranges::sort(result.not_covered);
  result.worst.loads = worst.loads();
  scale_to_reserved(result.worst.loads, reservation.reserved_permille);
  return result;
}

}  // namespace railweave::fabric
