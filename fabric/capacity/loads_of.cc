#include "fabric/capacity/loads_of.h"

namespace railweave::fabric {

PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads, const PathWalker& walker) {
  PromisedLoad result;
  if (reservation.promise == TrafficPromise::hose) {
    HoseLoad hose = loads.load(reservation.ports);
    result = {std::move(hose.loads), hose.complete(), hose.flow_links};
  } else {
    PatternLoad pattern = pattern_load(walker, reservation.flows);
    result = {std::move(pattern.loads), pattern.unrouted == 0, 0};
  }
  if (reservation.reserved_permille < 1000) {
    for (LinkLoad& load : result.loads) load.mbps = (load.mbps * reservation.reserved_permille + 999) / 1000;
  }
  return result;
}

Result<SurvivingLoad> load_surviving_failures(const Reservation& reservation, HoseLoads& loads,
                                              const RouteWithout& route_without) {
  SurvivingLoad result;
  const FabricView& view = loads.view();
  result.worst = load_of_promise(reservation, loads, PathWalker(view, loads.tables()));
  std::vector<LinkId> crossed;
  for (const LinkLoad& load : result.worst.loads) {
    if (crossed.empty() || crossed.back() != link_of(load.link)) crossed.push_back(link_of(load.link));
  }
  for (const LinkId link : crossed) {
    if (!view.topology().joins_switches(link)) {
      result.not_covered.push_back(link);
      continue;
    }
    auto tables = route_without(link);
    if (!tables) return std::unexpected(tables.error());
    FabricView failed = view;
    failed.set_state(link, LinkState::down);
    HoseLoads after(failed, *tables);
    const PromisedLoad load = load_of_promise(reservation, after, PathWalker(failed, *tables));
    if (!load.complete) {
      result.not_covered.push_back(link);
      continue;
    }
    result.covered.push_back(link);
    result.worst.loads = larger_of(result.worst.loads, load.loads);
    result.worst.flow_links += load.flow_links;
  }
  return result;
}

}  // namespace railweave::fabric
