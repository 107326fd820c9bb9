#include "services/control/views/routing_cache.h"

#include <algorithm>
#include <utility>

namespace railweave::control {
namespace {

using fabric::FabricView;

bool same_view(const FabricView& a, const FabricView& b) {
  bool same = a.is_spread_alike(b);
  a.for_each_touched_link(b, [&](fabric::LinkId link) {
    same = same && a.state(link) == b.state(link) && a.drained(link) == b.drained(link) && a.cost(link) == b.cost(link);
  });
  a.for_each_touched_switch(b, [&](fabric::SwitchId sw) { same = same && a.drained(sw) == b.drained(sw); });
  return same;
}

}  // namespace

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
  auto routing = before.choice.engine->reroute(before.routing, input);
  if (!routing) return std::unexpected(std::move(routing.error()));
  return std::make_shared<const FabricRoutes>(std::move(input), before.choice, std::move(*routing));
}

Result<FabricRoutesPtr> RoutingCache::at(const ClusterState& state) {
  if (state.accepted.digest.empty()) {
    return fail(ErrorKind::conflict, "routes.noFabric", "there is no fabric to route yet", {},
                "import one: railweave fabric import FILE, or PUT /v1/fabric/topology");
  }
  return on(state.view);
}

Result<FabricRoutesPtr> RoutingCache::on(const FabricView& view) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_,
                [&](const FabricRoutesPtr& one) { return one->input.view.topology_ptr() != view.topology_ptr(); });
  const auto known =
      std::ranges::find_if(kept_, [&](const FabricRoutesPtr& one) { return same_view(view, one->input.view); });
  if (known != kept_.end()) {
    std::rotate(kept_.begin(), known, known + 1);
    return kept_.front();
  }
  auto made = kept_.empty() ? route_whole(view) : reroute(*kept_.front(), view);
  if (!made) return made;
  if (kept_.size() == kKept) kept_.pop_back();
  kept_.insert(kept_.begin(), *made);
  return made;
}

Result<FabricRoutesPtr> RoutingCache::route_whole(const FabricView& view) const {
  auto scope = fabric::RoutingScope::make(view.topology_ptr(), {.switch_management = switch_management_});
  if (!scope) return std::unexpected(std::move(scope.error()));
  fabric::EngineChoice choice = fabric::choose_engine(**scope);
  fabric::RoutingInput input{.view = view, .scope = std::move(*scope), .threads = fabric::part_count()};
  auto routing = choice.engine->route(input);
  if (!routing) return std::unexpected(std::move(routing.error()));
  return std::make_shared<const FabricRoutes>(std::move(input), std::move(choice), std::move(*routing));
}

}  // namespace railweave::control
