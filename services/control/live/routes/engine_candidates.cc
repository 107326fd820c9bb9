#include "services/control/live/routes/engine_candidates.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/routing/engine_registry.h"
#include "services/control/live/routes/route_audit.h"
#include "services/control/live/routes/subnet_routes.h"
#include "services/control/live/routes/wanted_routes.h"

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

}  // namespace

ComparedView compare_engines(const BalanceInput& in, std::chrono::milliseconds most,
                             const std::atomic<bool>& is_stopped) {
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
  return compared;
}

void EngineThread::start(BalanceInput in) {
  RAILWEAVE_CHECK(!is_running(), "one comparison at a time");
  asked_version_ = in.view_version;
  running_ = std::async(policy_, [this, in = std::move(in)] { return compare_engines(in, kMost, is_stopped_); });
}

std::optional<ComparedView> EngineThread::take() {
  if (!is_running() || running_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return std::nullopt;
  return running_.get();
}

// Once for each view of the state, when the subnet is quiet.
void SubnetRoutes::keep_engines_compared(const ClusterState& state) {
  const bool is_wanted = context_.options.compare_engines && context_.mode() == SubnetMode::direct;
  SubnetStatus& status = context_.status();
  auto made = audits_.quiet.engines.take();
  if (status.engines && (!is_wanted || audits_.quiet.engines.asked_version() != state.view_version)) {
    status.engines = nullptr;  // of links and drains that are not those now
    context_.board.publish();
  }
  if (!is_wanted) {
    audits_.quiet.engines.forget();
    return;
  }
  if (made && made->view_version == state.view_version && audits_.quiet.engines.asked_version() == state.view_version) {
    EngineComparison& comparison = made->comparison;
    comparison.at_us = context_.with.unix_us();
    const std::string setting = setting_of(comparison);
    context_.log().info("engines compared by pairs on the fullest link: {}{}", comparison_text(comparison),
                        setting.empty() ? "; none is clearly better than the one in use" : "; better is " + setting);
    context_.alarms().set_subnet("routes.betterEngine", AlarmSeverity::warning,
                                 setting.empty() ? ""
                                                 : fmt::format("{}: {}; take the better by {}", context_.name(),
                                                               comparison_text(comparison), setting));
    status.engines = std::make_shared<const EngineComparison>(std::move(comparison));
    context_.board.publish();
  }
  if (audits_.quiet.engines.is_running() || audits_.quiet.engines.asked_version() == state.view_version) return;
  const bool await_lanes = lanes_.are_lacking() && context_.options.several_lanes;
  if (!are_cleared() || steps_.are_under_way || await_lanes || !is_time_to_balance(state)) return;
  audits_.quiet.engines.start(balance_input(state));
}

}  // namespace railweave::control
