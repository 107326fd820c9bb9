#include "services/control/views/routing_cache.h"

#include <algorithm>
#include <utility>

#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

using fabric::FabricView;

bool same_view(const FabricView& a, const FabricView& b) {
  bool same = a.is_spread_alike(b) && a.is_based_alike(b);
  a.for_each_touched_link(b, [&](fabric::LinkId link) {
    same = same && a.state(link) == b.state(link) && a.rate_seen(link) == b.rate_seen(link) &&
           a.drained(link) == b.drained(link) && a.cost(link) == b.cost(link);
  });
  a.for_each_touched_switch(b, [&](fabric::SwitchId sw) { same = same && a.drained(sw) == b.drained(sw); });
  return same;
}

// One lane for everything, where the levels that a subnet manager gives to paths are not known.
fabric::Routing with_seen(const fabric::Routing& wanted, const std::vector<SeenTablesPtr>& seen) {
  fabric::Routing routing = wanted;
  routing.state = nullptr;
  for (const auto& one : seen) {
    for (const auto plane : one->planes) {
      routing.tables.share_plane(one->tables, plane);
      if (plane.index() < routing.orders.size()) routing.orders[plane.index()] = nullptr;
      if (plane.index() >= routing.lanes.planes.size()) continue;
      const auto& told = one->lanes.planes;
      routing.lanes.planes[plane.index()] = plane.index() < told.size() ? told[plane.index()] : fabric::PlaneLanes{};
    }
  }
  return routing;
}

}  // namespace

TakenEngine taken_engine(const ClusterState& state) {
  const auto& subnets = state.topology().subnets();
  if (subnets.size() != 1) return {};
  const auto basis = state.route_bases->find(state.topology().name(*subnets.begin()));
  if (basis == state.route_bases->end() || basis->second.taken.engine.empty()) return {};
  return {basis->second.taken.engine, basis->second.taken.lanes, 0};
}

FabricRoutes::FabricRoutes(FabricRoutesPtr wanted, std::vector<SeenTablesPtr> seen)
    : input(wanted->input),
      choice(wanted->choice),
      routing(with_seen(wanted->routing, seen)),
      taken(wanted->taken),
      wanted_(std::move(wanted)),
      seen_(std::move(seen)) {}

const std::string* FabricRoutes::subnet_seen(fabric::PlaneId plane) const {
  for (const auto& one : seen_) {
    if (std::ranges::find(one->planes, plane) != one->planes.end()) return &one->subnet;
  }
  return nullptr;
}

const fabric::AuditReport& FabricRoutes::audit(const FabricRoutes* before) const {
  std::call_once(audited_, [this, before] {
    const auto options = fabric::AuditOptions::on_all_cores();
    fabric::PlaneReports known;
    if (before != nullptr) {
      (void)before->audit();
      known =
          fabric::unchanged_planes(before->planes_, {before->input.view, before->routing.tables, before->routing.lanes},
                                   {input.view, routing.tables, routing.lanes});
    }
    planes_ = fabric::audit_planes(input.view, routing.tables, routing.lanes, options, std::move(known));
    report_ = fabric::combined(input.view, routing.tables, planes_, options);
  });
  return report_;
}

Result<FabricRoutesPtr> reroute(const FabricRoutes& before, FabricView view) {
  fabric::RoutingInput input = before.input;
  input.view = std::move(view);
  auto routing = before.choice.engine->reroute(before.wanted().routing, input);
  if (!routing) return std::unexpected(std::move(routing.error()));
  return std::make_shared<const FabricRoutes>(std::move(input), before.choice, std::move(*routing), before.taken);
}

std::vector<SeenTablesPtr> RoutingCache::seen_in(const ClusterState& state, const fabric::RoutingScope& scope) const {
  std::vector<SeenTablesPtr> seen;
  for (const auto& [subnet, reported] : *state.subnet_tables) {
    if (reported.source == TablesSource::wanted || reported.digest.empty()) continue;
    auto found = seen_.find(subnet, reported);
    if (found == nullptr) continue;
    const auto& of = found->tables.scope();
    const bool is_same = of.topology_ptr() == scope.topology_ptr() &&
                         of.destinations().size() == scope.destinations().size() &&
                         of.planes().size() == scope.planes().size();
    if (is_same) seen.push_back(std::move(found));
  }
  return seen;
}

Result<FabricRoutesPtr> RoutingCache::at(const ClusterState& state) {
  auto wanted = this->wanted(state);
  if (!wanted) return wanted;
  auto seen = seen_in(state, (*wanted)->scope());
  if (seen.empty()) return wanted;
  const std::lock_guard lock(in_force_mutex_);
  const auto known = std::ranges::find_if(
      in_force_, [&](const FabricRoutesPtr& one) { return &one->wanted() == wanted->get() && one->seen() == seen; });
  if (known != in_force_.end()) {
    std::rotate(in_force_.begin(), known, known + 1);
    return in_force_.front();
  }
  std::erase_if(in_force_, [&](const FabricRoutesPtr& one) {
    return one->input.view.topology_ptr() != (*wanted)->input.view.topology_ptr();
  });
  if (in_force_.size() == kKept) in_force_.pop_back();
  in_force_.insert(in_force_.begin(), std::make_shared<const FabricRoutes>(std::move(*wanted), std::move(seen)));
  return in_force_.front();
}

Result<FabricRoutesPtr> RoutingCache::wanted(const ClusterState& state) {
  if (state.accepted.digest.empty()) {
    return fail(ErrorKind::conflict, "routes.noFabric", "there is no fabric to route yet", {},
                "import one: railweave fabric import FILE, or PUT /v1/fabric/topology");
  }
  return on(state.view, taken_engine(state));
}

Result<FabricRoutesPtr> RoutingCache::on(const FabricView& view, const TakenEngine& taken) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_,
                [&](const FabricRoutesPtr& one) { return one->input.view.topology_ptr() != view.topology_ptr(); });
  const auto known = std::ranges::find_if(
      kept_, [&](const FabricRoutesPtr& one) { return one->taken == taken && same_view(view, one->input.view); });
  if (known != kept_.end()) {
    std::rotate(kept_.begin(), known, known + 1);
    return kept_.front();
  }
  auto made = make(view, taken);
  if (!made) return made;
  if (kept_.size() == kKept) kept_.pop_back();
  kept_.insert(kept_.begin(), *made);
  return made;
}

void RoutingCache::keep(FabricRoutesPtr routes) {
  const std::lock_guard lock(mutex_);
  if (kept_.empty() || kept_.front()->input.scope != routes->input.scope) return;
  if (kept_.size() == kKept) kept_.pop_back();
  kept_.insert(kept_.begin() + 1, std::move(routes));
}

// The same as from nothing, from the latest by the same engine.
Result<FabricRoutesPtr> RoutingCache::make(const FabricView& view, const TakenEngine& taken) const {
  const auto is_by_it = [&](const FabricRoutesPtr& one) {
    const bool is_refused = !taken.engine.empty() && one->choice.engine->name() != taken.engine;
    return one->taken == taken && (!is_refused || preferred_.engine != nullptr);
  };
  const auto before = std::ranges::find_if(kept_, is_by_it);
  if (before == kept_.end()) return route_whole(view, taken);
  auto made = reroute(**before, view);
  return made || taken.engine.empty() ? std::move(made) : route_whole(view, taken);
}

Result<FabricRoutesPtr> RoutingCache::route_whole(const FabricView& view, const TakenEngine& taken) const {
  auto scope = kept_.empty()
                   ? fabric::RoutingScope::make(view.topology_ptr(), {.switch_management = switch_management_})
                   : Result<fabric::RoutingScopePtr>(kept_.front()->input.scope);
  if (!scope) return std::unexpected(std::move(scope.error()));
  fabric::RoutingInput input{.view = view, .scope = *scope, .threads = fabric::part_count()};
  const bool is_configured = preferred_.engine != nullptr;
  const fabric::RoutingEngine* named = is_configured ? preferred_.engine : fabric::find_engine(taken.engine);
  if (named != nullptr) {
    input.max_lanes = is_configured ? preferred_.max_lanes : static_cast<unsigned>(taken.lanes);
    if (auto routing = named->route(input)) {
      const char* why = is_configured ? "configured: routing_engine" : "better than the one that suits the shape";
      return std::make_shared<const FabricRoutes>(std::move(input), fabric::EngineChoice{named, why},
                                                  std::move(*routing), taken);
    }
    input.max_lanes = fabric::RoutingInput().max_lanes;
  }
  fabric::EngineChoice choice = fabric::choose_engine(**scope);
  auto routing = choice.engine->route(input);
  if (!routing) return std::unexpected(std::move(routing.error()));
  return std::make_shared<const FabricRoutes>(std::move(input), std::move(choice), std::move(*routing), taken);
}

}  // namespace railweave::control
