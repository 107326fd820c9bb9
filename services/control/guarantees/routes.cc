#include "services/control/guarantees/routes.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "fabric/capacity/lane_owners.h"
#include "fabric/capacity/route_changes.h"
#include "fabric/routing/plane/live_plane.h"
#include "services/control/guarantees/port_rules.h"

namespace railweave::control {
namespace {

using fabric::DirectedLink;
using fabric::LinkId;

struct Promise {
  JobId job;
  fabric::ReservationPtr wanted;
  bool at_risk = false;
};

struct PromiseRules {
  fabric::CapacityRules capacity;
  unsigned owned_lanes = 0;
};

// The guarantees on some tables.
struct RoutesOutcome {
  std::vector<JobId> lapse;  // hold now and would be at risk
  std::vector<JobId> hold_again, still_at_risk;
  std::vector<std::pair<LinkId, double>> overfull;  // links that all promises together overfill, by load / limit
};

RoutesOutcome outcome_on(const fabric::FabricView& view, const fabric::ForwardingTables& tables,
                         const std::vector<Promise>& promises, const PromiseRules& given) {
  RoutesOutcome outcome;
  fabric::Ledger ledger(fabric::whole_capacities_mbps(view), given.capacity), all = ledger;
  fabric::HoseLoads loads(view, tables);
  const fabric::PathWalker walker(view, tables);
  for (const Promise& promise : promises) {
    auto now = std::make_shared<fabric::Reservation>(*promise.wanted);
    auto load = load_of_promise(*now, loads, walker);
    now->loads = std::move(load.loads);
    const auto own = std::exchange(now->lane, std::nullopt);
    const auto lane = own ? fabric::free_lane(ledger, now->loads, given.owned_lanes, own) : own;
    const bool fits = load.complete && ledger.full_links(now->loads, now->qos_class, 1).empty() && (!own || lane);
    if (load.complete) all.reserve(now);
    if (fits) ledger.reserve(fabric::with_lane(now, lane));
    if (!promise.at_risk) {
      if (!fits) outcome.lapse.push_back(promise.job);
    } else {
      (fits ? outcome.hold_again : outcome.still_at_risk).push_back(promise.job);
    }
  }
  const auto& t = view.topology();
  for (const LinkId link : t.links()) {
    if (!t.joins_switches(link)) continue;
    double worst = 0;
    for (const DirectedLink directed : {link.index() * 2, link.index() * 2 + 1}) {
      for (std::size_t at = 0; at < all.classes(); ++at) {
        const auto c = static_cast<std::uint8_t>(at);
        const auto limit = static_cast<double>(std::max<std::int64_t>(1, all.limit_mbps(directed, c)));
        worst = std::max(worst, static_cast<double>(all.reserved_mbps(directed, c)) / limit);
      }
    }
    if (worst > 1) outcome.overfull.emplace_back(link, worst);
  }
  return outcome;
}

// In the order in which they are served: those that hold first, then those at risk, each by guarantee_order().
std::vector<Promise> promises_of(const ClusterState& state, GuaranteeBook& book) {
  std::vector<std::pair<std::uint64_t, Promise>> ordered;
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    if (!book.subnet_seen(*job).empty()) continue;  // costs change no routes there
    auto wanted = book.plain(*job);
    if (wanted.reservation == nullptr) continue;
    ordered.push_back(
        {guarantee_order(*state.queue_rules, *job), {id, std::move(wanted.reservation), job->guarantee->at_risk()}});
  }
  std::ranges::sort(ordered, {},
                    [](const auto& one) { return std::tuple(one.second.at_risk, one.first, one.second.job); });
  std::vector<Promise> promises;
  for (auto& [order, promise] : ordered) promises.push_back(std::move(promise));
  return promises;
}

}  // namespace

Result<RouteProposal> plan_guarantee_routes(const ClusterState& state, GuaranteeBook& book) {
  if (auto brought = book.bring_to(state); !brought) return std::unexpected(brought.error());
  const FabricRoutesPtr routes = book.routes();
  const auto& t = state.topology();
  RouteProposal best;
  const std::vector<Promise> promises = promises_of(state, book);
  for (const Promise& promise : promises) {
    if (promise.at_risk) best.still_at_risk.push_back(promise.job);
  }
  if (best.still_at_risk.empty()) return best;

  const PromiseRules rules{fabric::capacity_rules(book.classes()), owned_lanes(state, book.classes(), book)};
  fabric::FabricView view = state.view;
  RoutesOutcome at = outcome_on(routes->input.view, routes->routing.tables, promises, rules);
  for (unsigned tried = 1; tried <= kMaxRouteTries && !best.still_at_risk.empty() && !at.overfull.empty(); ++tried) {
    fabric::RoutingInput input = routes->input;
    for (const auto& [link, load] : at.overfull) {
      const double cost = fabric::link_transit({.view = view}, link).cost * std::clamp(load, 1.25, 2.0);
      view.set_cost(link, static_cast<float>(std::min(LinkCosts::kMaxCost, cost)));
    }
    input.view = view;
    auto routing = routes->choice.engine->route(input);
    if (!routing) return std::unexpected(std::move(routing.error()));
    at = outcome_on(input.view, routing->tables, promises, rules);
    best.tried = tried;
    if (!at.lapse.empty() || at.hold_again.size() <= best.hold_again.size()) continue;
    const auto audit = fabric::audit(input.view, routing->tables, routing->lanes, fabric::AuditOptions::on_all_cores());
    if (!audit.verified()) continue;
    best.hold_again = at.hold_again;
    best.still_at_risk = at.still_at_risk;
    best.costs.clear();
    for (const LinkId link : t.links()) {
      if (t.joins_switches(link) && view.cost(link) > 1) best.costs.emplace(t.link_text(link), view.cost(link));
    }
    best.changed_entries = 0;
    for (const auto plane : routes->scope().planes()) {
      best.changed_entries += fabric::route_changes(routes->routing.tables, routing->tables, plane).entries.size();
    }
  }
  if (best.costs.empty()) return best;
  for (const JobId id : *state.guaranteed) best.lose_coverage += state.jobs.find(id)->guarantee->covered ? 1U : 0U;
  return best;
}

Result<std::vector<JobId>> lapse_without_costs(const ClusterState& state, GuaranteeBook& book) {
  if (auto brought = book.bring_to(state); !brought) return std::unexpected(brought.error());
  fabric::FabricView view = state.view;
  for (const auto& [name, cost] : state.link_costs->by_link) {
    if (const LinkId link = state.topology().find_link(name)) view.set_cost(link, 1);
  }
  const auto routes = reroute(*book.routes(), view);
  if (!routes) return std::unexpected(routes.error());
  const PromiseRules rules{fabric::capacity_rules(book.classes()), owned_lanes(state, book.classes(), book)};
  return outcome_on(view, (*routes)->routing.tables, promises_of(state, book), rules).lapse;
}

std::optional<LinkCostsSet> GuaranteeReroute::next(const ClusterState& state, GuaranteeBook& book) {
  std::vector<JobId> at_risk;
  for (const JobId id : *state.guaranteed) {
    if (state.jobs.find(id)->guarantee->at_risk()) at_risk.push_back(id);
  }
  if (at_risk.empty() || (view_version_ == state.view_version && at_risk_ == at_risk)) return std::nullopt;
  const auto& t = state.topology();
  const auto ours = [&](fabric::SubnetId subnet) { return state.mode(t.name(subnet)) == SubnetMode::direct; };
  if (!std::ranges::any_of(t.subnets(), ours) || t.hca_ports().size() > kMaxPorts) return std::nullopt;
  view_version_ = state.view_version;
  at_risk_ = std::move(at_risk);
  const auto proposal = plan_guarantee_routes(state, book);
  if (!proposal || proposal->costs.empty()) return std::nullopt;
  for (const auto& [name, cost] : proposal->costs) {
    if (!ours(t.subnet(t.switch_of(t.a(t.find_link(name)))))) return std::nullopt;
  }
  std::string jobs;
  for (const JobId id : proposal->hold_again) jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", to_string(id));
  return LinkCostsSet{proposal->costs, "for the guarantees of " + jobs};
}

std::vector<EventBody> with_alarm(LinkCostsSet costs) {
  Alarm alarm;
  alarm.kind = "routes.linkCosts";
  alarm.subject_kind = "routes";
  alarm.subject_id = "costs";
  alarm.text = fmt::format(
      "routes use {} links less because of costs, {}; railweave guarantees reroute shows them, and --reset removes "
      "them once they are not needed",
      costs.by_link.size(), costs.reason);
  EventBody noted = AlarmCleared{alarm.id()};
  if (!costs.by_link.empty()) noted = AlarmRaised{std::move(alarm)};
  std::vector<EventBody> events{EventBody(std::move(costs))};
  events.push_back(std::move(noted));
  return events;
}

}  // namespace railweave::control
