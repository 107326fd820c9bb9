#include "services/control/guarantee_routes.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "fabric/capacity/route_changes.h"

namespace railweave::control {
namespace {

using fabric::DirectedLink;
using fabric::LinkId;

struct Promise {
  JobId job;
  fabric::ReservationPtr wanted;
  bool at_risk = false;
};

// What guarantees come to on some tables.
struct Outcome {
  bool holders_fit = true;
  std::vector<JobId> hold_again, still_at_risk;
  std::vector<std::pair<LinkId, double>> over;  // links that all promises together overfill, and how many times
};

Outcome outcome_on(const fabric::FabricView& view, const fabric::ForwardingTables& tables,
                   const std::vector<Promise>& promises, const fabric::CapacityRules& rules) {
  Outcome outcome;
  fabric::Ledger ledger(fabric::whole_capacities_mbps(view), rules), all = ledger;
  fabric::HoseLoads loads(view, tables);
  const fabric::PathWalker walker(view, tables);
  for (const Promise& promise : promises) {
    auto now = std::make_shared<fabric::Reservation>(*promise.wanted);
    auto load = load_of_promise(*now, loads, walker);
    now->loads = std::move(load.loads);
    const bool fits = load.complete && ledger.full_links(now->loads, now->qos_class, 1).empty();
    if (load.complete) all.reserve(now);
    if (fits) ledger.reserve(now);
    if (!promise.at_risk) {
      outcome.holders_fit = outcome.holders_fit && fits;
    } else {
      (fits ? outcome.hold_again : outcome.still_at_risk).push_back(promise.job);
    }
  }
  const auto& t = view.topology();
  for (const LinkId link : t.links()) {
    if (!t.joins_switches(link)) continue;
    double most = 0;
    for (const DirectedLink way : {link.index() * 2, link.index() * 2 + 1}) {
      for (std::uint8_t c = 0; c < all.classes(); ++c) {
        const auto limit = static_cast<double>(std::max<std::int64_t>(1, all.limit_mbps(way, c)));
        most = std::max(most, static_cast<double>(all.reserved_mbps(way, c)) / limit);
      }
    }
    if (most > 1) outcome.over.emplace_back(link, most);
  }
  return outcome;
}

}  // namespace

Result<RouteProposal> plan_guarantee_routes(const ClusterState& state, GuaranteeBook& book) {
  if (auto brought = book.bring_to(state); !brought) return std::unexpected(brought.error());
  const FabricRoutesPtr routes = book.routes();
  const auto& t = state.topology();
  std::vector<std::pair<std::uint64_t, Promise>> ordered;
  RouteProposal best;
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    auto wanted = book.plain(*job);
    if (wanted.reservation == nullptr) continue;
    ordered.push_back(
        {guarantee_order(*state.queue_rules, *job), {id, std::move(wanted.reservation), job->guarantee->at_risk()}});
  }
  // Those that hold keep what they have; then the others, in the order in which they are served.
  std::ranges::sort(ordered, {},
                    [](const auto& one) { return std::tuple(one.second.at_risk, one.first, one.second.job); });
  std::vector<Promise> promises;
  for (auto& [order, promise] : ordered) {
    if (promise.at_risk) best.still_at_risk.push_back(promise.job);
    promises.push_back(std::move(promise));
  }
  if (best.still_at_risk.empty()) return best;

  const auto rules = fabric::capacity_rules(book.classes());
  auto costs = std::make_shared<std::vector<float>>(t.links().size(), 1.0F);
  for (const LinkId link : t.links()) {
    if (routes->input.view.state(link) == fabric::LinkState::degraded) {
      (*costs)[link.index()] = fabric::RoutingInput::kDegradedCost;
    }
  }
  const std::vector<float> plain = *costs;
  Outcome at = outcome_on(routes->input.view, routes->routing.tables, promises, rules);
  for (unsigned tried = 1; tried <= kMostRouteTries && !best.still_at_risk.empty() && !at.over.empty(); ++tried) {
    auto next = std::make_shared<std::vector<float>>(*costs);
    for (const auto& [link, times] : at.over) {
      float& cost = (*next)[link.index()];
      cost = std::min(16.0F, cost * static_cast<float>(std::clamp(times, 1.25, 2.0)));
    }
    costs = std::move(next);
    fabric::RoutingInput input = routes->input;
    input.link_cost = costs;
    auto routing = routes->choice.engine->route(input);
    if (!routing) return std::unexpected(std::move(routing.error()));
    at = outcome_on(input.view, routing->tables, promises, rules);
    best.tried = tried;
    if (!at.holders_fit || at.hold_again.size() <= best.hold_again.size()) continue;
    const auto audit = fabric::audit(input.view, routing->tables, routing->lanes, fabric::AuditOptions::on_all_cores());
    if (!audit.sound()) continue;
    best.hold_again = at.hold_again;
    best.still_at_risk = at.still_at_risk;
    best.costs.clear();
    for (const LinkId link : t.links()) {
      if ((*costs)[link.index()] != plain[link.index()])
        best.costs.push_back({t.link_text(link), (*costs)[link.index()]});
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

}  // namespace railweave::control
