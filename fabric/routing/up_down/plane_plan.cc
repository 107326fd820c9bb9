#include "fabric/routing/up_down/plane_plan.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "fabric/routing/up_down/host_load.h"
#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/port_spread.h"
#include "fabric/topology/disjoint_sets.h"

namespace railweave::fabric {

std::vector<std::uint32_t> local_weights(const RoutingInput& input, const Plane& plane) {
  std::vector<std::uint32_t> weights;
  if (!input.destination_weight) return weights;
  weights.resize(plane.destination_count(), 1);
  for (std::size_t d = 0; d < weights.size(); ++d) {
    const std::size_t i = plane.destination(d).index();
    if (i < input.destination_weight->size()) weights[d] = (*input.destination_weight)[i];
  }
  return weights;
}

bool all_reached(const Plane& plane, const Reach& reach, bool end_ports_only) {
  for (const Home& home : plane.homes) {
    if (home.end_ports == 0) continue;
    const std::uint8_t* total = reach.total(home.sw);
    if (std::memchr(total, kUnreachable, plane.homes.size()) == nullptr) continue;
    if (!end_ports_only) return false;
    for (std::size_t to = 0; to < plane.homes.size(); ++to) {
      if (total[to] == kUnreachable && plane.homes[to].end_ports > 0) return false;
    }
  }
  return true;
}

bool misses_connected(const Plane& plane, const LivePlane& live, const Reach& reach) {
  DisjointSets connected(plane.switch_count());  // without passing through drained switches
  for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      const std::uint32_t to = plane.arcs[a].to;
      if (live.usable[a] != 0 && live.drained[s] == 0 && live.drained[to] == 0) connected.unite(s, to);
    }
  }
  const auto parts_of = [&](std::uint32_t s) {
    std::vector<std::uint32_t> parts;
    if (live.drained[s] == 0) parts.push_back(connected.find(s));
    for (std::uint32_t a = plane.first_arc[s]; live.drained[s] != 0 && a < plane.first_arc[s + 1]; ++a) {
      if (live.usable[a] != 0) parts.push_back(connected.find(plane.arcs[a].to));
    }
    std::ranges::sort(parts);
    return parts;
  };
  std::vector<std::vector<std::uint32_t>> parts;
  for (const Home& home : plane.homes) parts.push_back(parts_of(home.sw));
  for (std::size_t from = 0; from < plane.homes.size(); ++from) {
    if (plane.homes[from].end_ports == 0) continue;
    const std::uint8_t* total = reach.total(plane.homes[from].sw);
    for (std::size_t to = 0; to < plane.homes.size(); ++to) {
      if (total[to] != kUnreachable || plane.homes[to].end_ports == 0) continue;
      for (const std::uint32_t p : parts[from]) {
        if (std::ranges::binary_search(parts[to], p)) return true;
      }
    }
  }
  return false;
}

namespace {

// Limits of the work for a plan, in steps of a few nanoseconds. A plan is made once per cabling, not per failure.
constexpr std::uint64_t kMaxRankingWork = 1'000'000'000;
constexpr std::uint64_t kMaxEntriesLookedAt = 1'000'000;  // of regular tables, whose loads are nearly always even

struct Ranked {
  Ranking ranking;
  OrderedReach on;
};

Ranked rank(const Plane& plane, const LivePlane& cabled, Ranking ranking) {
  Ranked ranked{std::move(ranking), {}};
  ranked.on = reach_on(plane, cabled, order_by(plane, ranked.ranking));
  if (!all_reached(plane, ranked.on.reach, false)) {
    ranked.on = reach_on(plane, cabled, flooded(plane, cabled, ranked.on.order));
  }
  return ranked;
}

// The ranking on which traffic spreads best; the first of equals.
Ranked best_ranked(const Plane& plane, const LivePlane& cabled, const PlanChoice& choice, PlanePlan& plan) {
  Ranking tiers = tier_ranking(plane);
  const std::uint64_t work = std::uint64_t{plane.homes.size()} * plane.arcs.size();
  if (is_layered(plane, tiers) || work > kMaxRankingWork) return rank(plane, cabled, std::move(tiers));
  std::vector<Ranking> rankings;
  rankings.push_back(std::move(tiers));
  rankings.push_back(central_ranking(plane));
  if (!choice.trees_only) rankings.push_back(root_ranking(plane));
  std::optional<Ranked> best;
  std::uint64_t best_load = UINT64_MAX;
  for (Ranking& ranking : rankings) {
    Ranked ranked = rank(plane, cabled, std::move(ranking));
    const std::uint64_t load = NextHops::up_down(plane, ranked.on.directions, ranked.on.reach).even_split_load(plane);
    if (best && load >= best_load - best_load / 64) continue;  // a gain below 1/64 is not worth another ranking
    best = std::move(ranked);
    best_load = load;
  }
  plan.findings.push_back(
      {"notLayered",
       Severity::info,
       "some links join switches of one rank or skip ranks; the ranking on which traffic spreads best is used",
       {}});
  return *std::move(best);
}

// Keeps the ports of the closed form where they spread traffic as well as any others.
void choose_ports(const Plane& plane, const LivePlane& cabled, const Ranked& ranked,
                  std::span<const std::uint32_t> weights, PlanePlan& plan) {
  if (!may_spread(plane)) return;
  const bool small = std::uint64_t{plane.switch_count()} * plane.destination_count() <= kMaxEntriesLookedAt;
  const bool regular = plan.nominal.slots.complete() && ranked.on.order.layered && weights.empty();
  if (regular && !small) return;
  const auto pairs = pair_weights(plane);
  const PlaneTables closed_form = TableFill(plane, cabled, ranked.on.directions, ranked.on.reach, plan.nominal).all();
  const DirectedReach on{ranked.on.order, ranked.on.directions, ranked.on.reach};
  if (regular && is_even_enough(fullest_load(plane, on.reach, closed_form, pairs), least_load(plane, on, pairs, {})))
    return;
  auto spread = spread_ports(plane, on, pairs, closed_form, weights);
  if (spread && spread->max_load < spread->start_load) plan.nominal.table = std::move(spread->tables);
}

}  // namespace

OrderedReach reach_on(const Plane& plane, const LivePlane& live, SwitchOrder order) {
  OrderedReach found{std::move(order), {}, {}};
  found.directions = arc_directions(plane, live, found.order);
  found.reach = Reach(plane, found.directions, found.order);
  return found;
}

OrderedReach reach_all(const Plane& plane, const LivePlane& live, SwitchOrder order) {
  OrderedReach found = reach_on(plane, live, std::move(order));
  if (all_reached(plane, found.reach, true) || !misses_connected(plane, live, found.reach)) return found;
  return reach_on(plane, live, flooded(plane, live, found.order));
}

double gain_of_free_paths(const Plane& plane) {
  if (std::uint64_t{plane.homes.size()} * plane.arcs.size() > kMaxRankingWork) return 1;
  const LivePlane cabled = cabled_plane(plane);
  PlanePlan unused;
  const Ranked ranked = best_ranked(plane, cabled, {}, unused);
  const auto up_down = NextHops::up_down(plane, ranked.on.directions, ranked.on.reach).even_split_load(plane);
  const auto free = NextHops::shortest(plane, cabled).even_split_load(plane);
  return free == 0 ? 1 : static_cast<double>(up_down) / static_cast<double>(free);
}

PlanePlan plan_plane(const RoutingScope& scope, const Plane& plane, std::span<const std::uint32_t> weights,
                     const PlanChoice& choice) {
  PlanePlan plan;
  const LivePlane cabled = cabled_plane(plane);
  const Ranked ranked = best_ranked(plane, cabled, choice, plan);
  plan.directions = ranked.on.directions;
  plan.reach = ranked.on.reach;
  plan.ranking = ranked.ranking;
  plan.order = ranked.on.order;
  plan.nominal.slots = SlotPlan(plane, plan.ranking, weights);
  set_keys(plan.nominal, scope, plane);
  if (choice.balance) choose_ports(plane, cabled, ranked, weights, plan);
  return plan;
}

}  // namespace railweave::fabric
