// Routes that are spread again over the links that are left: SubnetRoutes proposes them when the subnet is quiet, and writes
// them a few blocks at a time. Each moment of the way is proven, as all of it is one delta in the order of its stages.
#include <algorithm>
#include <memory>
#include <utility>

#include "services/control/live/routes/subnet_routes.h"
#include "services/control/views/changed_paths.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

namespace {

constexpr std::int64_t kStepEveryUs = 250'000;
constexpr std::size_t kStepBlocks = 64;  // of all switches together

// What carries no transit now, of the subnet's own links and switches, by name.
RoutesRebalanced basis_of(const SubnetContext& context, const SubnetLinks& links, const FabricView& view) {
  const Topology& t = *links.topology();
  RoutesRebalanced basis{.subnet = context.options.subnet, .links = {}, .switches = {}};
  for (const auto& cable : links.cables()) {
    if (!t.joins_switches(cable.link)) continue;
    if (!view.alive(cable.link) || view.drained(cable.link)) basis.links.push_back(t.link_text(cable.link));
  }
  for (const SwitchId sw : links.switches()) {
    if (view.drained(sw)) basis.switches.emplace_back(t.name(sw));
  }
  return basis;
}

// The same with the bases of other subnets, by the ids of the view.
std::shared_ptr<const SpreadBasis> with_others(const SubnetLinks& links, const FabricView& view,
                                               const RoutesRebalanced& own) {
  const Topology& t = view.topology();
  auto basis = std::make_shared<SpreadBasis>();
  if (view.spread_basis()) *basis = *view.spread_basis();
  std::erase_if(basis->links, [&](LinkId link) { return t.subnet(t.switch_of(t.a(link))) == links.subnet(); });
  std::erase_if(basis->switches, [&](SwitchId sw) { return t.subnet(sw) == links.subnet(); });
  for (const auto& name : own.links) basis->links.push_back(t.find_link(name));
  for (const auto& name : own.switches) basis->switches.push_back(t.find_switch(name));
  std::ranges::sort(basis->links);
  std::ranges::sort(basis->switches);
  return basis->links.empty() && basis->switches.empty() ? nullptr : basis;
}

}  // namespace

Result<void> SubnetRoutes::keep_balanced(const ClusterState& state) {
  if (context_.mode() != SubnetMode::direct || !context_.options.rebalance || !are_cleared()) return {};
  if (steps_.are_under_way) return write_step(state);
  auto made = balance_.take();
  if (made && made->view_version == state.view_version && made->is_worth_it() && are_left_alone(state, *made)) {
    RoutesRebalanced report = basis_of(context_, links_, wanted_.view());
    report.fullest = made->fullest;
    report.fullest_before = made->fullest_before;
    context_.log().info("routes are to be spread again: {} instead of {} pairs on the fullest link", made->fullest,
                        made->fullest_before);
    if (context_.with.keep_routes) context_.with.keep_routes(made->routes);
    wanted_.prepare(std::move(made->routes));
    context_.with.report(ReportBalance{std::move(report), state.view_version});
  }
  start_balance(state);
  return {};
}

// Jobs with guarantees keep their paths. The decision asks again, on the state that it is made on.
bool SubnetRoutes::are_left_alone(const ClusterState& state, const BalancedRoutes& made) const {
  if (state.guaranteed->empty()) return true;
  const ChangedPaths changed(wanted_.routing().tables, made.routes->routing.tables);
  const auto moved = std::ranges::count_if(*state.guaranteed, [&](JobId id) {
    const JobPtr job = state.jobs.find(id);
    return job != nullptr && changed.concern(hosts_of(state.topology(), *job));
  });
  if (moved == 0) return true;
  context_.log().info(
      "routes stay as repaired, {} pairs on the fullest link instead of {}: {} of {} jobs with guarantees "
      "would get other paths",
      made.fullest_before, made.fullest, moved, state.guaranteed->size());
  return false;
}

// Once for each view of the state.
void SubnetRoutes::start_balance(const ClusterState& state) {
  const std::int64_t after_us = context_.options.rebalance_after.count() * 1000;
  if (balance_.is_running() || steps_.compared_version == state.view_version) return;
  if (wanted_.view_version() != state.view_version || have_work() || !wanted_.are_quiet(context_.now() - after_us)) {
    return;
  }
  if (!state.link_costs->by_link.empty() || lanes_.are_lacking()) return;
  steps_.compared_version = state.view_version;
  if (!wanted_.base()->choice.engine->incremental()) return;
  RoutingInput input = wanted_.base()->input;
  input.view = wanted_.view();
  auto basis = with_others(links_, input.view, basis_of(context_, links_, input.view));
  const FabricView before = input.view;
  input.view.set_spread_basis(std::move(basis));
  if (input.view.is_based_alike(before)) return;
  input.threads = 1;
  balance_.start(wanted_.base(), std::move(input), wanted_.routing(), wanted_.planes(), state.view_version);
}

// The first blocks of what still differs: any beginning of a delta is a moment that it was proven for.
Result<void> SubnetRoutes::write_step(const ClusterState& state) {
  if (context_.now() - steps_.last_us < kStepEveryUs || !applied_.are_known() || !ports_.is_done()) return {};
  steps_.last_us = context_.now();
  const RepairCause cause{.text = "routes are spread again", .start_us = context_.now()};
  ForwardingDelta delta =
      compute_delta(wanted_.view(), applied_.routing(), wanted_.routing(), {.urgent = {}, .may_drop = false});
  leave_out_unknown(delta);
  if (delta.blocks.size() <= kStepBlocks) {  // the last of it, and what is not proven without drops
    steps_.are_under_way = false;
    return program(state, cause, context_.now() - steps_.last_us);
  }
  delta.blocks.resize(kStepBlocks);
  if (!context_.mode_holds()) return {};
  if (before_writing_) {
    if (auto ready = before_writing_(state); !ready) return ready;
  }
  const auto written = write(delta, cause, context_.now() - steps_.last_us);
  if (!written) return std::unexpected(written.error());
  if (!written->has_value()) return {};
  std::vector<SwitchId> switches;
  for (const LftBlock& block : delta.blocks) switches.push_back(block.sw);
  std::ranges::sort(switches);
  switches.erase(std::ranges::unique(switches).begin(), switches.end());
  return read_back(switches);
}

}  // namespace railweave::control
