#include "services/control/live/routes/balanced_routes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "fabric/routing/delta/forwarding_delta.h"
#include "services/control/live/routes/route_audit.h"
#include "services/control/views/changed_paths.h"
#include "services/control/views/job_demands.h"

namespace railweave::control {

bool BalancedRoutes::is_worth_it() const {
  if (!is_verified || unproven > 0) return false;
  if (followed) return followed->balance.is_worth_it();
  return fullest_before * 20 > fullest * 21;
}

std::optional<BalancedRoutes> balanced_routes(const BalanceInput& in) {
  auto routing = in.base->choice.engine->reroute(in.now, in.input);
  if (!routing) return std::nullopt;
  const fabric::AuditOptions loads_only{.shift_samples = 0, .max_examples = 1, .run = {}};
  const auto before = audit_of(in.input.view, in.now, in.planes, loads_only);
  const auto after = audit_of(in.input.view, *routing, in.planes, loads_only);
  const std::size_t unproven =
      fabric::compute_delta(in.input.view, in.now, *routing, {.urgent = {}, .may_drop = false}).left_out;
  return BalancedRoutes{
      .routes = std::make_shared<const FabricRoutes>(in.input, in.base->choice, std::move(*routing), in.base->taken),
      .view_version = in.view_version,
      .fullest = after.max_link_load_hosts,
      .fullest_before = before.max_link_load_hosts,
      .is_verified = after.verified(),
      .unproven = unproven,
      .followed = std::nullopt};
}

std::optional<BalancedRoutes> followed_routes(BalanceInput in, const ClusterState& state, fabric::SubnetId subnet) {
  JobDemands asked = job_demands(state, in.now.tables, subnet);
  if (asked.is_incomplete) {
    return BalancedRoutes{.routes = nullptr,
                          .view_version = in.view_version,
                          .followed = FollowedJobs{.jobs = asked.jobs, .are_too_many = true, .balance = {}}};
  }
  const fabric::Topology& t = state.topology();
  std::set<fabric::HostId> guaranteed;
  for (const JobId id : *state.guaranteed) {
    if (const JobPtr job = state.jobs.find(id)) guaranteed.merge(hosts_of(t, *job));
  }
  fabric::TrafficBalanceOptions options;
  if (!guaranteed.empty()) {
    options.stays = [&](fabric::PortId port) { return guaranteed.contains(t.host(t.hca_of(port))); };
  }
  fabric::TrafficBalance balance = fabric::balance_traffic(in.input.view, in.now, asked.demands, options);
  if (!balance.is_changed) return std::nullopt;
  const auto is_own = [&](const fabric::ChosenHop& hop) { return t.subnet(hop.sw) == subnet; };
  std::erase_if(balance.hops, [&](const fabric::ChosenHop& hop) { return !is_own(hop); });  // others keep theirs
  auto basis = std::make_shared<fabric::SpreadBasis>();
  if (in.input.view.spread_basis()) *basis = *in.input.view.spread_basis();
  std::erase_if(basis->hops, is_own);
  basis->hops.insert(basis->hops.end(), balance.hops.begin(), balance.hops.end());
  std::ranges::sort(basis->hops);
  in.input.view.set_spread_basis(std::move(basis));
  auto made = balanced_routes(in);
  if (made) made->followed = FollowedJobs{.jobs = asked.jobs, .balance = std::move(balance)};
  return made;
}

}  // namespace railweave::control
