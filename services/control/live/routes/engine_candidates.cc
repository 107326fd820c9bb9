#include "services/control/live/routes/engine_candidates.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "services/control/live/routes/route_audit.h"
#include "services/control/live/routes/wanted_routes.h"
#include "services/control/views/one_lane_routes.h"

namespace railweave::control {
namespace {

using Clock = std::chrono::steady_clock;

ComparedEngine judged(ComparedEngine one, const fabric::Routing& routing, const BalanceInput& in) {
  const auto report = audit_of(in.input.view, routing, in.planes, {.shift_samples = 0, .max_examples = 1, .run = {}});
  one.lanes = lanes_used_by(routing, in.planes);
  one.fullest = report.max_link_load_hosts;
  one.detours = report.nonminimal_pairs;
  one.problem = fault_of(report);
  return one;
}

ComparedEngine tried(const fabric::RoutingEngine& engine, unsigned max_lanes, const BalanceInput& in) {
  const auto start = Clock::now();
  ComparedEngine one{.engine = std::string(engine.name()), .max_lanes = max_lanes};
  fabric::RoutingInput input = in.input;
  input.max_lanes = max_lanes;
  const auto routing = engine.route(input);
  if (routing) {
    one = judged(std::move(one), *routing, in);
  } else {
    one.problem = routing.error().message;
  }
  one.took_us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  return one;
}

// Entries that no order changes without drops, on the way to these routes: at once, or where they need several lanes by way of
// routes on one, on which senders are told their levels.
std::size_t unproven_entries(const BalanceInput& in, const FabricRoutesPtr& to, const TakeTerms& terms) {
  const auto left_out = [&](const fabric::Routing& before, const fabric::Routing& after) {
    return fabric::compute_delta(in.input.view, before, after, {.urgent = {}, .may_drop = false}).left_out;
  };
  if (lanes_used_by(to->routing, in.planes) <= 1) return left_out(in.now, to->routing);
  const auto by = terms.single ? Result<FabricRoutesPtr>(terms.single) : on_one_lane(to, in.planes);
  if (!by) return SIZE_MAX;
  auto between = (*by)->choice.engine->reroute((*by)->routing, in.input);
  if (!between) return SIZE_MAX;
  const std::size_t first = left_out(in.now, *between);
  between->lanes = to->routing.lanes;
  return first + left_out(*between, to->routing);
}

void add_taking(ComparedView& compared, const BalanceInput& in, const TakeTerms& terms) {
  const auto& engines = compared.comparison.engines;
  const bool may_use_several = terms.several_lanes && engines.front().lanes <= 1;
  const auto best = better_engine(engines, may_use_several ? UINT_MAX : 1U);
  if (!best) return;
  const ComparedEngine& one = engines[*best];
  const fabric::RoutingEngine* engine = fabric::find_engine(one.engine);
  fabric::RoutingInput input = in.input;
  input.max_lanes = one.max_lanes;
  auto routing = engine->route(input);
  if (!routing) return;
  compared.fullest = one.fullest;
  compared.taking = std::make_shared<const FabricRoutes>(
      std::move(input), fabric::EngineChoice{engine, "better than the one that suits the shape"}, std::move(*routing),
      TakenEngine{one.engine, one.max_lanes, 0});
  compared.unproven = unproven_entries(in, compared.taking, terms);
}

}  // namespace

ComparedView compare_engines(const BalanceInput& in, std::chrono::milliseconds most,
                             const std::atomic<bool>& is_stopped, const std::optional<TakeTerms>& terms) {
  const auto end = Clock::now() + most;
  ComparedView compared{.comparison = {}, .view_version = in.view_version};
  auto& engines = compared.comparison.engines;
  const std::string used(in.base->choice.engine->name());
  engines.push_back(judged({.engine = used, .max_lanes = in.input.max_lanes, .is_used = true}, in.now, in));
  for (const fabric::RoutingEngine* engine : fabric::routing_engines()) {
    unsigned lanes = fabric::RoutingInput().max_lanes;
    if (engine->name() == used) lanes = engines.front().lanes / 2;
    while (lanes > 0) {
      if (is_stopped || Clock::now() >= end) {
        engines.push_back({.engine = std::string(engine->name()),
                           .max_lanes = lanes,
                           .problem = fmt::format("was not tried within {} s", most.count() / 1'000)});
        break;
      }
      engines.push_back(tried(*engine, lanes, in));
      const ComparedEngine& last = engines.back();
      // Each half of the lanes that were of use, down to 2: on one lane up-down is another candidate.
      lanes = last.problem.empty() && last.lanes > 2 ? std::min(last.lanes, lanes) / 2 : 0;
    }
  }
  compared.comparison.better = better_engine(engines);
  if (terms && !is_stopped) add_taking(compared, in, *terms);
  return compared;
}

void EngineThread::start(BalanceInput in, std::optional<TakeTerms> terms) {
  asked_version_ = in.view_version;
  running_.start(
      [this, in = std::move(in), terms = std::move(terms)] { return compare_engines(in, kMost, is_stopped_, terms); });
}

}  // namespace railweave::control
