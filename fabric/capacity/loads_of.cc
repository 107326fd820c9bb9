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

// walker: null: one is made where the reservation needs it.
PromisedLoad whole_load(const Reservation& reservation, HoseLoads& loads, const PathWalker* walker = nullptr) {
  if (reservation.promise == TrafficPromise::hose) {
    HoseLoad hose = loads.load(reservation.ports);
    const bool complete = hose.complete();
    return {std::move(hose.loads), complete, hose.flow_links};
  }
  std::optional<PathWalker> own;
  if (walker == nullptr) walker = &own.emplace(loads.view(), loads.tables());
  PatternLoad pattern = whole_pattern(reservation, loads, *walker);
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

// The loads of a reservation on what is left of one plane. Borrows all.
class AfterFailure {
 public:
  AfterFailure(const Reservation& reservation, const HoseLoads& loads, PlaneId plane) {
    const auto& tables = loads.tables();
    const bool is_pattern = reservation.promise == TrafficPromise::pattern;
    if (is_pattern) {
      const auto flows = flows_by_plane(tables.scope(), reservation.flows);
      if (flows.contains(plane)) flows_ = flows.at(plane);
    } else {
      ports_ = ports_in(tables.scope(), plane, reservation.ports);
    }
    if (spread_of(loads.view(), tables.scope(), plane) != PathSpread::single) {
      spread_.emplace(loads.view(), tables, plane);
    } else if (is_pattern) {
      pattern_.emplace(loads.view(), tables, flows_);
    } else {
      hose_.emplace(loads.view(), tables, plane, ports_);
    }
  }
  // The links whose load may change; none: packets do not arrive. Valid until the next call.
  std::optional<std::span<const LinkLoad>> without(LinkId link, const RouteChanges& changes) {
    if (pattern_) return pattern_->loads_without(link, changes);
    if (hose_) return hose_->loads_without(link, changes);
    spread_->fail(link, &changes);
    after_ = flows_.empty() ? spread_->hose(ports_) : spread_->pattern(flows_);
    if (after_.unrouted != 0) return std::nullopt;
    return after_.loads;
  }

 private:
  std::vector<HosePort> ports_;
  std::vector<PatternFlow> flows_;
  std::optional<HoseRoutes> hose_;
  std::optional<PatternRoutes> pattern_;
  std::optional<SpreadLoads> spread_;
  SpreadLoad after_;
};

// What the failure of one link costs where packets are spread, beside one where they are not: all is computed again.
std::size_t spread_work_of(const Reservation& reservation, const RoutingScope& scope, PlaneId plane) {
  constexpr std::size_t kPairsPerFailure = 64;
  if (reservation.promise == TrafficPromise::pattern) return 1 + reservation.flows.size() / kPairsPerFailure;
  std::set<SwitchId> homes;
  for (const HosePort& port : reservation.ports) {
    const DestinationId id = scope.find(port.port);
    if (id && scope.plane_of(id) == plane) homes.insert(scope.destination(id).home);
  }
  return 1 + homes.size() * homes.size() / kPairsPerFailure;
}

}  // namespace

PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads, const PathWalker& walker) {
  PromisedLoad result = whole_load(reservation, loads, &walker);
  scale_to_reserved(result.loads, reservation.reserved_permille);
  return result;
}

PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads) {
  PromisedLoad result = whole_load(reservation, loads);
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

SurvivingSearch::SurvivingSearch(const Reservation& reservation, HoseLoads& loads, const FailureRoutes& failures)
    : worst_(directed_link_count(loads.view().topology())) {
  const FabricView& view = loads.view();
  const RoutingScope& scope = loads.tables().scope();
  result_.worst = whole_load(reservation, loads);
  for (const LinkLoad& load : result_.worst.loads) {
    worst_[load.link] = load.mbps;
    const LinkId link = link_of(load.link);
    if (result_.worst.complete && view.topology().joins_switches(link)) continue;
    if (result_.not_covered.empty() || result_.not_covered.back() != link) result_.not_covered.push_back(link);
  }
  if (!result_.worst.complete) return;
  std::map<PlaneId, std::size_t> work;
  for (const LinkId link : failures_that_matter(view, loads.tables(), result_.worst.loads, failures.far_reaching)) {
    const PlaneId plane = scope.arc_of(link).plane;
    const bool is_single = spread_of(view, scope, plane) == PathSpread::single;
    auto [at, is_new] = work.try_emplace(plane, 0);
    if (is_new && !is_single) at->second = spread_work_of(reservation, scope, plane);
    links_.push_back({plane, link, at->second});
  }
  std::ranges::stable_sort(links_, {}, &Failure::plane);
}

std::size_t SurvivingSearch::spread_work() const {
  std::size_t work = 0;
  for (std::size_t i = done_; i < links_.size(); ++i) work += links_[i].work;
  return work;
}

Result<void> SurvivingSearch::run(const Reservation& reservation, const HoseLoads& loads, const FailureRoutes& failures,
                                  std::size_t work) {
  std::optional<AfterFailure> after;
  for (std::size_t spent = 0; done_ < links_.size() && spent < work; ++done_) {
    const Failure& failure = links_[done_];
    spent += std::max<std::size_t>(1, failure.work);
    const auto changes = failures.changes_without(failure.link);
    if (!changes) return std::unexpected(changes.error());
    if (!after || links_[done_ - 1].plane != failure.plane) after.emplace(reservation, loads, failure.plane);
    const auto left = after->without(failure.link, **changes);
    (left ? result_.covered : result_.not_covered).push_back(failure.link);
    if (!left) continue;
    for (const LinkLoad& load : *left) worst_[load.link] = std::max(worst_[load.link], load.mbps);
  }
  return {};
}

SurvivingLoad SurvivingSearch::take(const Reservation& reservation) && {
  std::ranges::sort(result_.covered);
  std::ranges::sort(result_.not_covered);
  result_.worst.loads.clear();
  for (DirectedLink link = 0; link < worst_.size(); ++link) {
    if (worst_[link] > 0) result_.worst.loads.push_back({link, worst_[link]});
  }
  scale_to_reserved(result_.worst.loads, reservation.reserved_permille);
  return std::move(result_);
}

Result<SurvivingLoad> load_surviving_failures(const Reservation& reservation, HoseLoads& loads,
                                              const FailureRoutes& failures) {
  SurvivingSearch search(reservation, loads, failures);
  if (auto done = search.run(reservation, loads, failures, SIZE_MAX); !done) return std::unexpected(done.error());
  return std::move(search).take(reservation);
}

}  // namespace railweave::fabric
