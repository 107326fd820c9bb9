#include "fabric/capacity/reroute.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "fabric/capacity/loads_of.h"
#include "fabric/capacity/spread_paths.h"

namespace railweave::fabric {
namespace {

// By destination, the reservations that send to it.
std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_destination(const RoutingScope& scope,
                                                                             const std::vector<ReservationPtr>& all) {
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> users;
  const auto add = [&](PortId port, std::uint32_t user) {
    const DestinationId id = scope.find(port);
    if (!id) return;
    auto& list = users[id.value()];
    if (list.empty() || list.back() != user) list.push_back(user);
  };
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    for (const HosePort& port : all[i]->ports) add(port.port, i);
    for (const PatternFlow& flow : all[i]->flows) add(flow.ports.to, i);
  }
  return users;
}

// Planes in which packets are, or were, spread over paths that table entries alone do not tell, and where anything
// differs. By PlaneId.
std::vector<std::uint8_t> spread_otherwise(const FabricView& view_before, const ForwardingTables& before,
                                           const FabricView& view_after, const ForwardingTables& after) {
  const RoutingScope& scope = after.scope();
  std::vector<std::uint8_t> is_spread(scope.planes().size()), differs(is_spread.size());
  for (const PlaneId plane : scope.planes()) {
    const PathSpread was = spread_of(view_before, scope, plane), is = spread_of(view_after, scope, plane);
    is_spread[plane.index()] = was == PathSpread::single && is == PathSpread::single ? 0 : 1;
    differs[plane.index()] = is_spread[plane.index()] != 0 && (was != is || !after.shares_plane(before, plane)) ? 1 : 0;
  }
  view_after.for_each_touched_link(view_before, [&](LinkId link) {
    const PlaneId plane = scope.arc_of(link).plane;
    const bool changed =
        view_before.alive(link) != view_after.alive(link) || view_before.rate(link) != view_after.rate(link);
    if (changed && plane && is_spread[plane.index()] != 0) differs[plane.index()] = 1;
  });
  return differs;
}

}  // namespace

std::vector<ReservationPtr> crossing_changes(const Ledger& ledger, const FabricView& view_before,
                                             const ForwardingTables& before, const FabricView& view_after,
                                             const ForwardingTables& after) {
  const Topology& t = view_after.topology();
  const RoutingScope& scope = after.scope();
  const std::vector<ReservationPtr> all = ledger.reservations();
  std::vector<std::uint8_t> crosses(all.size(), 0);
  const auto users = by_destination(scope, all);
  for (const PlaneId id : scope.planes()) {
    if (after.shares_plane(before, id)) continue;
    const PlaneTables &old_plane = before.plane(id), &new_plane = after.plane(id);
    const Plane& plane = scope.plane(id);
    for (std::size_t s = 0; s < new_plane.switches(); ++s) {
      for (std::size_t tile = 0; tile < new_plane.tiles_per_row(); ++tile) {
        if (new_plane.shares_tile(old_plane, s, tile)) continue;
        const std::size_t end = std::min(new_plane.destinations(), (tile + 1) * new_plane.tile_entries());
        for (std::size_t d = tile * new_plane.tile_entries(); d < end; ++d) {
          const std::uint16_t was = old_plane.at(s, d);
          if (was == new_plane.at(s, d)) continue;
          const auto user = users.find(plane.destination(d).value());
          if (user == users.end()) continue;
          const auto ports = t.ports(plane.switches[s]);
          const bool dropped = was == kNoPort || was == kPortZero || !t.peer(ports[was - 1U]);
          for (const std::uint32_t i : user->second) {
            if (dropped || load_on(all[i]->loads, directed_link(t, ports[was - 1U])) > 0) crosses[i] = 1;
          }
        }
      }
    }
  }
  const auto otherwise = spread_otherwise(view_before, before, view_after, after);
  for (const auto& [destination, list] : users) {
    if (otherwise[scope.plane_of(DestinationId(destination)).index()] == 0) continue;
    for (const std::uint32_t i : list) crosses[i] = 1;
  }
  // Reservations over links whose state or rate changed, and those that the change may have connected or cut off.
  view_after.for_each_touched_link(view_before, [&](LinkId link) {
    if (view_before.alive(link) == view_after.alive(link) && view_before.rate(link) == view_after.rate(link)) return;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (crosses[i] != 0) continue;
      const auto forward = static_cast<DirectedLink>(link.index() * 2);
      bool own = load_on(all[i]->loads, forward) > 0 || load_on(all[i]->loads, forward + 1) > 0;
      for (const HosePort& port : all[i]->ports) own = own || t.link(port.port) == link;
      for (const PatternFlow& flow : all[i]->flows) {
        own = own || t.link(flow.ports.from) == link || t.link(flow.ports.to) == link;
      }
      if (own) crosses[i] = 1;
    }
  });
  std::vector<ReservationPtr> crossing;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (crosses[i] != 0) crossing.push_back(all[i]);
  }
  return crossing;
}

RerouteOutcome recompute(Ledger& ledger, const std::vector<ReservationPtr>& crossing, HoseLoads& loads) {
  RerouteOutcome outcome;
  std::vector<ReservationPtr> in_order = crossing;
  std::ranges::stable_sort(in_order, {}, [](const ReservationPtr& one) { return one->order; });
  for (const ReservationPtr& one : in_order) (void)ledger.release(one->job, one->qos_class);
  const PathWalker walker(loads.view(), loads.tables());
  std::set<std::string> jobs;
  for (const ReservationPtr& one : in_order) {
    jobs.insert(one->job);
    PromisedLoad now = load_of_promise(*one, loads, walker);
    auto renewed = std::make_shared<Reservation>(*one);
    renewed->loads = std::move(now.loads);
    std::vector<FullLink> full = ledger.full_links(renewed->loads, renewed->qos_class);
    if (full.empty() && now.complete) {
      ledger.reserve(std::move(renewed));
    } else {
      outcome.lapsed.push_back({std::move(renewed), std::move(full), !now.complete});
    }
  }
  outcome.recomputed.assign(jobs.begin(), jobs.end());
  return outcome;
}

}  // namespace railweave::fabric
