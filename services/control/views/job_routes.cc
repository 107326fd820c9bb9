#include "services/control/views/job_routes.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/fnv1a.h"
#include "fabric/routing/audit/changed_routes.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "services/control/views/changed_paths.h"
#include "services/control/views/job_demands.h"
#include "services/control/views/subnet_costs.h"

namespace railweave::control {
namespace {

constexpr double kRounding = 1e-9;

std::set<fabric::HostId> guaranteed_hosts(const ClusterState& state) {
  std::set<fabric::HostId> hosts;
  for (const JobId id : *state.guaranteed) {
    if (const JobPtr job = state.jobs.find(id)) hosts.merge(hosts_of(state.topology(), *job));
  }
  return hosts;
}

std::vector<fabric::PlaneId> planes_in(const fabric::RoutingScope& scope, fabric::SubnetId subnet) {
  std::vector<fabric::PlaneId> own;
  for (const fabric::PlaneId plane : scope.planes()) {
    if (scope.topology().subnet(scope.plane(plane).switches.front()) == subnet) own.push_back(plane);
  }
  return own;
}

// The search for hops of one subnet.
class HopSearch {
 public:
  HopSearch(const ClusterState& state, const FabricRoutes& now, fabric::SubnetId subnet)
      : t_(state.topology()), now_(now), subnet_(subnet), demands_(job_demands(state, now.routing.tables, subnet)) {
    const std::set<fabric::HostId> guaranteed = guaranteed_hosts(state);
    if (guaranteed.empty()) return;
    options_.stays = [this, guaranteed](fabric::PortId port) { return guaranteed.contains(t_.host(t_.hca_of(port))); };
  }

  [[nodiscard]] const JobDemands& demands() const { return demands_; }

  [[nodiscard]] fabric::TrafficBalance balance(const FabricRoutes& routes) const {
    return fabric::balance_traffic(routes.input.view, routes.routing, demands_.demands, options_);
  }

  // The routes with these hops in the subnet, and those of others as they are.
  [[nodiscard]] Result<FabricRoutesPtr> with(const std::vector<fabric::ChosenHop>& hops) const {
    fabric::FabricView view = now_.input.view;
    auto basis = std::make_shared<fabric::SpreadBasis>();
    if (view.spread_basis()) *basis = *view.spread_basis();
    std::erase_if(basis->hops, [&](const fabric::ChosenHop& hop) { return is_own(hop); });
    std::ranges::copy_if(hops, std::back_inserter(basis->hops), [&](const auto& hop) { return is_own(hop); });
    std::ranges::sort(basis->hops);
    view.set_spread_basis(basis->empty() ? nullptr : std::move(basis));
    return reroute(now_, std::move(view));
  }

  // As if no job were known, but for paths that are promised.
  [[nodiscard]] Result<FabricRoutesPtr> even() const {
    std::vector<fabric::ChosenHop> promised = present();
    std::erase_if(promised, [&](const fabric::ChosenHop& hop) { return !options_.stays || !options_.stays(hop.to); });
    return with(promised);
  }

  [[nodiscard]] std::vector<fabric::ChosenHop> present() const {
    const auto& basis = now_.input.view.spread_basis();
    return basis ? basis->hops : std::vector<fabric::ChosenHop>();
  }

  [[nodiscard]] std::vector<RouteHop> by_name(const std::vector<fabric::ChosenHop>& hops) const {
    std::vector<RouteHop> named;
    for (const fabric::ChosenHop& hop : hops) {
      if (is_own(hop)) named.push_back({std::string(t_.name(hop.sw)), t_.port_text(hop.to), hop.port});
    }
    return named;
  }

 private:
  [[nodiscard]] bool is_own(const fabric::ChosenHop& hop) const { return t_.subnet(hop.sw) == subnet_; }

  const fabric::Topology& t_;
  const FabricRoutes& now_;
  const fabric::SubnetId subnet_;
  const JobDemands demands_;
  fabric::TrafficBalanceOptions options_;
};

// Why hops are not even looked for; "": they are.
std::string why_not(const ClusterState& state, const FabricRoutes& now, fabric::SubnetId subnet) {
  const std::string name(state.topology().name(subnet));
  if (!now.choice.engine->takes_chosen_hops()) {
    return fmt::format("routes by the engine {} do not follow jobs", now.choice.engine->name());
  }
  if (state.spread(name) != fabric::PathSpread::single) return "its packets are said to go over several paths";
  if (costs_in(state, name) > 0) return "costs of links decide its routes: railweave guarantees reroute";
  return "";
}

struct Choice {
  std::vector<fabric::ChosenHop> hops;
  double fullest = 0;
};

// None: what there is stays. The last resort is what no job is known for.
std::optional<Choice> choose(const fabric::TrafficBalance& from_now, const fabric::TrafficBalance& from_even,
                             const std::vector<fabric::ChosenHop>& even) {
  const double most = from_even.fullest_before + kRounding;
  if (from_now.is_worth_it() && from_now.fullest <= most) return Choice{from_now.hops, from_now.fullest};
  if (from_now.fullest_before <= most) return std::nullopt;
  if (from_even.fullest <= most) return Choice{from_even.hops, from_even.fullest};
  return Choice{even, from_even.fullest_before};
}

}  // namespace

Result<JobRoutes> routes_for_jobs(const ClusterState& state, const FabricRoutes& now, fabric::SubnetId subnet) {
  const HopSearch search(state, now, subnet);
  JobRoutes result;
  result.kept_because = why_not(state, now, subnet);
  result.hops = search.by_name(search.present());
  result.jobs = search.demands().jobs;
  if (!result.is_change()) return result;
  if (search.demands().is_incomplete) {
    result.kept_because = fmt::format("jobs have more than {:.0f} flows", JobDemands::kMaxFlows);
    return result;
  }
  const auto even = search.even();
  if (!even) return std::unexpected(even.error());
  const fabric::TrafficBalance from_now = search.balance(now), from_even = search.balance(**even);
  result.fullest_even = from_even.fullest_before;
  result.fullest_before = result.fullest = from_now.fullest_before;
  const auto& even_basis = (*even)->input.view.spread_basis();
  const auto chosen = choose(from_now, from_even, even_basis ? even_basis->hops : std::vector<fabric::ChosenHop>());
  if (!chosen) {
    result.kept_because = "no other next hops are worth the changes";
    return result;
  }
  const auto after = search.with(chosen->hops);
  if (!after) return std::unexpected(after.error());
  const auto checked =
      fabric::check_changed_routes(now.input.view, now.routing, (*after)->routing, planes_in(now.scope(), subnet));
  if (!checked.complete || !checked.changed.verified()) {
    result.kept_because = "other routes were not verified: " + checked.changed.example;
    return result;
  }
  result.hops = search.by_name(chosen->hops);
  result.fullest = chosen->fullest;
  result.changed_entries = ChangedPaths(now.routing.tables, (*after)->routing.tables).entries();
  return result;
}

std::vector<TableDigest> table_digests(const ClusterState& state, const FabricRoutes& routes, fabric::SubnetId subnet) {
  const fabric::RoutingScope& scope = routes.scope();
  std::vector<TableDigest> digests;
  for (const fabric::PlaneId id : planes_in(scope, subnet)) {
    const fabric::Plane& plane = scope.plane(id);
    const fabric::PlaneTables& tables = routes.routing.tables.plane(id);
    for (std::size_t s = 0; s < plane.switches.size(); ++s) {
      Fnv1a digest;
      digest.add(state.accepted.digest);
      for (std::size_t d = 0; d < plane.destination_count(); ++d) digest.add(std::uint64_t{tables.at(s, d)});
      digests.push_back({plane.switches[s], digest.value()});
    }
  }
  return digests;
}

}  // namespace railweave::control
