#include "fabric/routing/up_down/rebased_plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/plane_state.h"
#include "fabric/routing/up_down/port_spread.h"

namespace railweave::fabric {

namespace {

// The plane as it was when routes were spread again. Costs are not part of it: they count on top of its ports. None of
// its links was out of use: nullopt.
std::optional<LivePlane> basis_of(const RoutingInput& input, const Plane& plane) {
  if (input.view.spread_basis() == nullptr) return std::nullopt;
  const SpreadBasis& basis = *input.view.spread_basis();
  LivePlane live = cabled_plane(plane);
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    if (!std::ranges::binary_search(basis.switches, plane.switches[s])) continue;
    live.drained[s] = 1;
    ++live.drained_count;
  }
  bool is_whole = live.drained_count == 0;
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      const bool both_drained = live.drained[s] != 0 && live.drained[plane.arcs[a].to] != 0;
      if (!both_drained && !std::ranges::binary_search(basis.links, plane.arcs[a].link)) continue;
      live.usable[a] = 0;
      is_whole = false;
    }
  }
  if (is_whole) return std::nullopt;
  return live;
}

struct Candidate {
  PlanePlanPtr plan;
  std::uint64_t fullest = UINT64_MAX;  // as LoadShiftResult::max_load
};

// On the order of the cabled plan.
Candidate on_same_order(const RoutingInput& input, const Plane& plane, const PlanePlanPtr& cabled,
                        const LivePlane& basis) {
  constexpr BalanceEffort kEffort{.rounds = 30};  // nothing waits for it
  const auto weights = local_weights(input, plane);
  const PlaneState state = fresh_state(plane, cabled, basis);
  auto spread = spread_ports(plane, {*state.order, state.directions, state.reach}, pair_weights(plane),
                             tables_of(plane, state, input.threads), weights, kEffort);
  if (!spread) return {};
  auto plan = std::make_shared<PlanePlan>(*cabled);
  plan->nominal.table = std::move(spread->tables);
  plan->cabled = cabled;
  return {std::move(plan), spread->max_load};
}

// The plane without the arcs that were out of use: as if it had been cabled so.
Plane without_arcs(const Plane& plane, const LivePlane& basis) {
  Plane cut = plane;
  cut.arcs.clear();
  cut.arc_rate_mbps.clear();
  std::vector<std::uint32_t> now(plane.arcs.size(), Plane::kNone);
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    cut.first_arc[s] = static_cast<std::uint32_t>(cut.arcs.size());
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      if (basis.usable[a] == 0) continue;
      now[a] = static_cast<std::uint32_t>(cut.arcs.size());
      cut.arcs.push_back(plane.arcs[a]);
      cut.arc_rate_mbps.push_back(plane.arc_rate_mbps[a]);
    }
  }
  cut.first_arc[plane.switch_count()] = static_cast<std::uint32_t>(cut.arcs.size());
  for (Arc& arc : cut.arcs) arc.reverse = now[arc.reverse];
  // Topology::tier() of such a fabric.
  std::ranges::fill(cut.tier, Topology::kNoTier);
  std::vector<std::uint32_t> queue;
  for (const Home& home : cut.homes) {
    if (home.host_ports == 0) continue;
    cut.tier[home.sw] = 0;
    queue.push_back(home.sw);
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const Arc& arc : cut.arcs_of(queue[i])) {
      if (cut.tier[arc.to] != Topology::kNoTier) continue;
      cut.tier[arc.to] = static_cast<std::uint8_t>(cut.tier[queue[i]] + 1);
      queue.push_back(arc.to);
    }
  }
  return cut;
}

// The fullest arc of tables, as LoadShiftResult::max_load.
std::uint64_t fullest_of(const Plane& plane, const PlaneTables& tables, const DirectedReach& on,
                         std::span<const std::uint32_t> weights) {
  const auto shifted = shift_loads(plane, on, pair_weights(plane), tables, weights, 0);
  return shifted ? shifted->start_load : UINT64_MAX;
}

// As planned for a fabric that was cabled so, on whatever order that has.
Candidate on_own_order(const RoutingInput& input, const Plane& plane, const PlanePlanPtr& cabled,
                       const LivePlane& basis, const PlanChoice& choice) {
  const Plane cut = without_arcs(plane, basis);
  const auto weights = local_weights(input, plane);
  const auto fresh = std::make_shared<const PlanePlan>(plan_plane(*input.scope, cut, weights, choice));
  const PlaneState state = fresh_state(cut, fresh, cabled_plane(cut));
  PlaneTables tables = tables_of(cut, state, input.threads);
  const std::uint64_t fullest = fullest_of(cut, tables, {*state.order, state.directions, state.reach}, weights);
  auto plan = std::make_shared<PlanePlan>(*cabled);
  plan->ranking = fresh->ranking;
  OrderedReach whole = reach_on(plane, cabled_plane(plane), *state.order);
  plan->order = std::move(whole.order);
  plan->directions = std::move(whole.directions);
  plan->reach = std::move(whole.reach);
  plan->findings = fresh->findings;
  plan->nominal.table = std::move(tables);
  plan->cabled = cabled;
  return {std::move(plan), fullest};
}

}  // namespace

PlanePlanPtr plan_on_basis(const RoutingInput& input, const Plane& plane, const PlanePlanPtr& cabled,
                           const PlanChoice& choice) {
  const auto basis = basis_of(input, plane);
  if (!basis || !may_spread(plane)) return cabled;
  Candidate best = on_same_order(input, plane, cabled, *basis);
  if (!best.plan) return cabled;
  if (basis->drained_count > 0) return best.plan;
  Candidate other = on_own_order(input, plane, cabled, *basis, choice);
  // Less than a fiftieth is not worth another order.
  return other.fullest < best.fullest - best.fullest / 50 ? other.plan : best.plan;
}

}  // namespace railweave::fabric
