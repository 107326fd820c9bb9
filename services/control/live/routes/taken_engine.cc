// What SubnetRoutes does to have the better engine: compares when the subnet is quiet, proposes, follows what was decided, and gives an
// engine up that cannot route the subnet any more.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/control/live/routes/subnet_routes.h"
#include "services/control/views/changed_paths.h"
#include "services/control/views/subnet_costs.h"

namespace railweave::control {
namespace {

constexpr std::int64_t kReportAgainUs = 2'000'000;  // one that was lost

ClusterState without_taken(const ClusterState& state, const std::string& subnet) {
  ClusterState plain = state;
  const auto present = state.route_bases->find(subnet);
  if (present == state.route_bases->end()) return plain;
  RouteBasis basis = present->second;
  basis.taken = {};
  plain.put_route_basis(subnet, std::move(basis));
  return plain;
}

}  // namespace

// Nothing where there are no routes at all, which the status says.
Result<void> SubnetRoutes::choose_base(const ClusterState& state) {
  const auto& routes_of = context_.mode() == SubnetMode::opensm ? context_.with.host_routes : context_.with.routes;
  auto routes = routes_of(state);
  if (!routes) {
    context_.status().problem = routes.error().text();
    context_.status().phase = SubnetPhase::watching;
    return {};
  }
  // Routes on another topology: these stay until its follower comes.
  if (wanted_.base() && (*routes)->input.scope != wanted_.base()->input.scope) return {};
  taking_.asked = taken_engine(state);
  taking_.why_not.clear();
  wanted_.set_base(*routes, links_.switches());
  lanes_.single.reset();
  const std::string& engine = taking_.asked.engine;
  if (!engine.empty() && (*routes)->choice.engine->name() != engine) {
    taking_.why_not = fmt::format("{} cannot route it as it is", engine);
  } else if (!engine.empty()) {
    lanes_.single = single_of(state);
  }
  choose_lanes();
  if (!context_.writes()) return {};
  return bring_up_ports();
}

// Those of the engine that suits the shape, so that no route changes before it must; null: they need several lanes, too.
FabricRoutesPtr SubnetRoutes::single_of(const ClusterState& state) const {
  auto plain = context_.with.routes(without_taken(state, context_.options.subnet));
  if (!plain || lanes_used_by((*plain)->routing, wanted_.planes()) > 1) return nullptr;
  return std::move(*plain);
}

// Where the engine that was taken finds no routes that may be written, the one that suits the shape is used at once, and what was taken
// is given up. Not for links that are held, as those are used first.
Result<WantedRoutes::Update> SubnetRoutes::compute_wanted(const ClusterState& state, const fabric::FabricView& view) {
  auto update = wanted_.compute(view, misled(), state.view_version, context_.now());
  const bool is_by_taken = wanted_.base()->choice.engine->name() == taking_.asked.engine && !lanes_.are_lacking();
  if (!is_by_taken || (update && update->is_verified) || observed_.held() > 0) return update;
  auto plain = context_.with.routes(without_taken(state, context_.options.subnet));
  if (!plain) return update;
  taking_.why_not = update ? wanted_.fault() : update.error().text();
  context_.log().warn("{} is given up: {}", taking_.asked.engine, taking_.why_not);
  wanted_.set_base(std::move(*plain), links_.switches());
  lanes_.single.reset();
  choose_lanes();
  return wanted_.compute(view, misled(), state.view_version, context_.now());
}

void SubnetRoutes::doubt_engine(const std::string& refusal) {
  if (!taking_.asked.engine.empty() && taking_.why_not.empty()) taking_.why_not = refusal;
}

// Durable, so that the next start does not try it either.
void SubnetRoutes::give_up_engine(const ClusterState& state) {
  if (taking_.asked.engine.empty() || context_.mode() != SubnetMode::direct) return;
  if (taking_.why_not.empty() && !context_.options.take_better_engine)
    taking_.why_not = "the settings do not ask for it any more";
  const bool is_due = taking_.said_us == 0 || context_.now() - taking_.said_us >= kReportAgainUs;
  if (taking_.why_not.empty() || !is_due || taken_engine(state) != taking_.asked) return;
  taking_.said_us = context_.now();
  RoutesRebalanced report = present_basis(state, context_.options.subnet);
  report.taken = {};
  report.engine_before = taking_.asked.engine;
  report.engine_reason = taking_.why_not;
  context_.with.report(ReportBalance{std::move(report), state.view_version});
}

// Why the better one is not to be taken now; "": it is.
std::string SubnetRoutes::why_not_taken(const ClusterState& state, const ComparedView& made) {
  const std::int64_t hold_us = context_.options.engine_hold.count() * 1000;
  const std::int64_t since_us = present_basis(state, context_.options.subnet).taken.since_us;
  const bool is_held = since_us != 0 && context_.with.unix_us() - since_us < hold_us;
  taking_.again_us = is_held ? since_us + hold_us : context_.with.unix_us() + hold_us;
  if (state.topology().subnets().size() != 1) return "one engine routes all subnets of the fabric";
  if (!made.taking) {
    if (!context_.options.several_lanes) return "it needs several lanes, and several_lanes is false";
    return "it needs several lanes, and so do the routes now";
  }
  if (made.unproven > 0) return "some entries would change only with drops";
  if (is_held) return fmt::format("engines change once in {} s", hold_us / 1'000'000);
  const ChangedPaths changed(wanted_.made().tables, made.taking->routing.tables);
  const auto moved = std::ranges::count_if(*state.guaranteed, [&](JobId id) {
    const JobPtr job = state.jobs.find(id);
    return job != nullptr && changed.concern(hosts_of(state.topology(), *job));
  });
  if (moved > 0) return fmt::format("{} of the jobs with guarantees would get other paths", moved);
  taking_.again_us = 0;
  return {};
}

void SubnetRoutes::take_better(const ClusterState& state, ComparedView& made) {
  EngineComparison& comparison = made.comparison;
  if (!comparison.better || !context_.options.take_better_engine) return;
  comparison.not_taken = why_not_taken(state, made);
  if (!comparison.not_taken.empty()) return;
  RoutesRebalanced report = present_basis(state, context_.options.subnet);
  report.taken = made.taking->taken;
  report.engine_before = comparison.engines.front().engine;
  report.fullest = made.fullest;
  report.fullest_before = comparison.engines.front().fullest;
  context_.log().info("{} on at most {} lanes is to be taken instead of {}: {} instead of {} pairs on the fullest link",
                      report.taken.engine, report.taken.lanes, report.engine_before, report.fullest,
                      report.fullest_before);
  if (context_.with.keep_routes) context_.with.keep_routes(made.taking);
  context_.with.report(ReportBalance{std::move(report), state.view_version});
}

void SubnetRoutes::show_engines(EngineComparison comparison) {
  comparison.at_us = context_.with.unix_us();
  const std::string setting = setting_of(comparison);
  const std::string text = comparison_text(comparison);
  const bool is_told = !setting.empty() && (!context_.options.take_better_engine || !comparison.not_taken.empty());
  context_.log().info("engines compared by pairs on the fullest link: {}{}", text,
                      setting.empty() ? "; none is clearly better than the one in use" : "; better is " + setting);
  const std::string why = comparison.not_taken.empty() ? "" : "; not by itself: " + comparison.not_taken;
  if (!why.empty()) context_.log().info("the better engine is not taken{}", why.substr(1));
  context_.alarms().set_subnet(
      "routes.betterEngine", AlarmSeverity::warning,
      is_told ? fmt::format("{}: {}; take the better by {}{}", context_.name(), text, setting, why) : "");
  context_.status().engines = std::make_shared<const EngineComparison>(std::move(comparison));
  context_.board.publish();
}

// Once for each view of the state, when the subnet is quiet.
void SubnetRoutes::keep_engines_compared(const ClusterState& state) {
  give_up_engine(state);
  const SubnetOptions& options = context_.options;
  const bool is_wanted =
      (options.compare_engines || options.take_better_engine) && context_.mode() == SubnetMode::direct;
  EngineThread& engines = audits_.quiet.engines;
  SubnetStatus& status = context_.status();
  auto made = engines.take();
  if (taking_.again_us != 0 && context_.with.unix_us() >= taking_.again_us && !engines.is_running()) {
    taking_.again_us = 0;
    engines.forget();
  }
  if (status.engines && (!is_wanted || engines.asked_version() != state.view_version)) {
    status.engines = nullptr;  // of links and drains that are not those now
    context_.board.publish();
  }
  if (!is_wanted) return engines.forget();
  if (made && made->view_version == state.view_version && engines.asked_version() == state.view_version) {
    take_better(state, *made);
    show_engines(std::move(made->comparison));
  }
  if (engines.is_running() || engines.asked_version() == state.view_version) return;
  const bool await_lanes = lanes_.are_lacking() && options.several_lanes;
  if (!are_cleared() || steps_.are_under_way || await_lanes || !is_time_to_balance(state)) return;
  if (costs_in(state, options.subnet) > 0) return;
  std::optional<TakeTerms> terms;
  if (options.take_better_engine) terms = TakeTerms{options.several_lanes, single_of(state)};
  engines.start(balance_input(state), std::move(terms));
}

}  // namespace railweave::control
