// Routes that are spread again over the links that are left, or for the jobs that run: SubnetRoutes proposes them when the subnet is
// quiet, and writes them a few blocks at a time. Each moment of the way is proven, as all of it is one delta in the order of its stages.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "services/control/live/routes/subnet_routes.h"
#include "services/control/views/changed_paths.h"
#include "services/control/views/job_demands.h"
#include "services/control/views/subnet_costs.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

RoutesRebalanced present_basis(const ClusterState& state, const std::string& subnet) {
  RoutesRebalanced basis{.subnet = subnet, .links = {}, .switches = {}};
  const auto present = state.route_bases->find(subnet);
  if (present == state.route_bases->end()) return basis;
  basis.links = present->second.links;
  basis.switches = present->second.switches;
  basis.hops = present->second.hops;
  basis.taken = present->second.taken;
  return basis;
}

namespace {

constexpr std::int64_t kStepEveryUs = 250'000;

// What carries no transit now, of the subnet's own links and switches, by name, with the hops that there are.
RoutesRebalanced basis_of(const SubnetContext& context, const SubnetLinks& links, const ClusterState& state,
                          const FabricView& view) {
  const Topology& t = *links.topology();
  RoutesRebalanced basis = present_basis(state, context.options.subnet);
  basis.links.clear();
  basis.switches.clear();
  for (const auto& cable : links.cables()) {
    if (!t.joins_switches(cable.link)) continue;
    if (!view.alive(cable.link) || view.drained(cable.link)) basis.links.push_back(t.link_text(cable.link));
  }
  for (const SwitchId sw : links.switches()) {
    if (view.drained(sw)) basis.switches.emplace_back(t.name(sw));
  }
  return basis;
}

// The present basis with the hops of routes that follow jobs.
RoutesRebalanced basis_of(const SubnetContext& context, const ClusterState& state, const FollowedJobs& followed) {
  constexpr double kPermille = 1000;
  const Topology& t = state.topology();
  RoutesRebalanced basis = present_basis(state, context.options.subnet);
  basis.hops.clear();
  for (const ChosenHop& hop : followed.balance.hops) {
    basis.hops.push_back({std::string(t.name(hop.sw)), t.port_text(hop.to), hop.port});
  }
  basis.jobs = followed.jobs;
  basis.asked_permille = static_cast<std::uint64_t>(std::llround(kPermille * followed.balance.fullest));
  basis.asked_permille_before = static_cast<std::uint64_t>(std::llround(kPermille * followed.balance.fullest_before));
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
  return basis->empty() ? nullptr : basis;
}

}  // namespace

Result<void> SubnetRoutes::keep_balanced(const ClusterState& state) {
  const bool is_wanted = context_.options.rebalance || context_.options.follow_jobs;
  if (context_.mode() != SubnetMode::direct || !is_wanted || !are_cleared()) return {};
  if (steps_.are_under_way) return write_step(state);
  auto made = audits_.quiet.balance.take().value_or(std::nullopt);
  if (made && made->followed && made->followed->are_too_many) {
    context_.log().info("routes do not follow jobs: they have more than {:.0f} flows", JobDemands::kMaxFlows);
  }
  if (made && made->unproven > 0) {
    context_.log().info(
        "routes stay as they are, {} pairs on the fullest link instead of {}: {} entries would change only with drops",
        made->fullest_before, made->fullest, made->unproven);
  }
  if (made && made->view_version == state.view_version && made->is_worth_it() && are_left_alone(state, *made)) {
    RoutesRebalanced report =
        made->followed ? basis_of(context_, state, *made->followed) : basis_of(context_, links_, state, wanted_.view());
    report.fullest = made->fullest;
    report.fullest_before = made->fullest_before;
    if (made->followed) {
      context_.log().info(
          "routes are to follow {} jobs: {} next hops, {} instead of {} permille asked of the fullest link",
          report.jobs, report.hops.size(), report.asked_permille, report.asked_permille_before);
    } else {
      context_.log().info("routes are to be spread again: {} instead of {} pairs on the fullest link", made->fullest,
                          made->fullest_before);
    }
    if (context_.with.keep_routes) context_.with.keep_routes(made->routes);
    wanted_.prepare(std::move(made->routes));
    context_.with.report(ReportBalance{std::move(report), state.view_version});
  }
  if (!is_time_to_balance(state) || lanes_.are_lacking()) return {};
  start_balance(state);
  start_following(state);
  return {};
}

bool SubnetRoutes::is_time_to_balance(const ClusterState& state) const {
  const std::int64_t after_us = context_.options.rebalance_after.count() * 1000;
  if (audits_.quiet.balance.is_running() || wanted_.view_version() != state.view_version || have_work()) return false;
  return wanted_.are_quiet(context_.now() - after_us);
}

// Jobs with guarantees keep their paths. The decision asks again, on the state that it is made on.
bool SubnetRoutes::are_left_alone(const ClusterState& state, const BalancedRoutes& made) const {
  if (state.guaranteed->empty()) return true;
  const ChangedPaths changed(wanted_.made().tables, made.routes->routing.tables);
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

BalanceInput SubnetRoutes::balance_input(const ClusterState& state) const {
  BalanceInput in{.base = wanted_.base(),
                  .input = wanted_.base()->input,
                  .now = wanted_.made(),
                  .planes = wanted_.planes(),
                  .view_version = state.view_version};
  in.input.view = wanted_.view();
  in.input.threads = 1;
  return in;
}

// Once for each view of the state.
void SubnetRoutes::start_balance(const ClusterState& state) {
  if (!context_.options.rebalance || steps_.compared_version == state.view_version) return;
  steps_.compared_version = state.view_version;
  if (!wanted_.base()->choice.engine->incremental()) return;
  BalanceInput in = balance_input(state);
  in.input.view.set_spread_basis(with_others(links_, in.input.view, basis_of(context_, links_, state, in.input.view)));
  if (in.input.view.is_based_alike(wanted_.view())) return;
  audits_.quiet.balance.start([in = std::move(in)] { return balanced_routes(in); });
}

// Once for each view of the state and each set of places of jobs, not more often than routes are spread again.
void SubnetRoutes::start_following(const ClusterState& state) {
  if (!context_.options.follow_jobs || audits_.quiet.balance.is_running()) return;
  if (costs_in(state, context_.options.subnet) > 0) return;
  const std::int64_t after_us = context_.options.rebalance_after.count() * 1000;
  if (steps_.followed_at_us != 0 && context_.now() - steps_.followed_at_us < after_us) return;
  const bool others = !steps_.followed_jobs.follow(state.jobs).empty();
  if (!others && steps_.followed_version == state.view_version) return;
  steps_.followed_version = state.view_version;
  steps_.followed_at_us = context_.now();
  if (!wanted_.base()->choice.engine->takes_chosen_hops()) return;
  audits_.quiet.balance.start(
      [in = balance_input(state), state, subnet = links_.subnet()] { return followed_routes(in, state, subnet); });
}

// The first blocks of what still differs: any beginning of a delta is a moment that it was proven for.
Result<void> SubnetRoutes::write_step(const ClusterState& state) {
  if (context_.now() - steps_.last_us < kStepEveryUs || !applied_.are_known() || !ports_.is_done()) return {};
  steps_.last_us = context_.now();
  const RepairCause cause{.text = "routes are spread again", .start_us = context_.now()};
  ForwardingDelta delta = safe_delta(wanted_.routing(), {.urgent = {}, .may_drop = false});
  leave_out_unknown(delta);
  // What is not proven for packets that are still on their way by earlier tables is, once they have arrived.
  const bool waits = delta.left_out > 0 && !applied_.earlier(context_.now()).empty();
  if (waits && delta.blocks.empty()) return {};
  if (delta.blocks.size() <= context_.options.rebalance_blocks && !waits) {  // the last of it
    steps_.are_under_way = false;
    return program(state, cause, context_.now() - steps_.last_us);
  }
  delta.blocks.resize(std::min(delta.blocks.size(), context_.options.rebalance_blocks));
  if (!context_.mode_holds()) return {};
  if (before_writing_) {
    if (auto ready = before_writing_(state); !ready) return ready;
  }
  const auto written = write(delta, cause, context_.now() - steps_.last_us);
  if (!written) return std::unexpected(written.error());
  if (!written->has_value()) return {};
  return read_back(switches_of(delta));
}

}  // namespace railweave::control
