#include "services/control/views/guarantee_book.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/capacity/lane_owners.h"
#include "fabric/capacity/reroute.h"
#include "scheduler/admission/bandwidth_admission.h"
#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

using fabric::FabricView;
using fabric::Reservation;

constexpr std::size_t kMaxUnknownFailures = 4'000, kFailuresPerRefusal = 1'000;

// Whether two jobs agree in everything that determines a reservation.
bool same_reservation(const Job& a, const Job& b) {
  const JobGuarantee &x = *a.guarantee, &y = *b.guarantee;
  return x.qos_class == y.qos_class && x.promise == y.promise && x.rate == y.rate &&
         x.reserved_permille == y.reserved_permille && x.survives_link_failure == y.survives_link_failure &&
         x.covered == y.covered && x.basis == y.basis && x.at_risk() == y.at_risk() &&
         x.admitted_seq == y.admitted_seq && x.lane == y.lane && a.placement.gpu_of_rank == b.placement.gpu_of_rank;
}

FabricView view_on(const FabricView& now, const ViewBasis& basis) {
  const auto& topology = now.topology_ptr();
  FabricView view(topology);
  view.set_spreads(now);
  for (const auto& name : basis.down_links) {
    if (const auto link = topology->find_link(name)) view.set_state(link, fabric::LinkState::down);
  }
  for (const auto& name : basis.drained_links) {
    if (const auto link = topology->find_link(name)) view.set_drained(link, true);
  }
  for (const auto& name : basis.drained_switches) (void)mark_drained(view, {DrainKind::network_switch, name}, true);
  return view;
}

}  // namespace

namespace {

// The subnet of the first port whose plane has other tables than Railweave's.
const std::string* subnet_seen_at(const FabricRoutes& routes, const Reservation& wanted) {
  if (routes.seen().empty()) return nullptr;
  const auto at = [&](fabric::PortId port) -> const std::string* {
    const auto destination = routes.scope().find(port);
    return destination ? routes.subnet_seen(routes.scope().plane_of(destination)) : nullptr;
  };
  for (const auto& port : wanted.ports) {
    if (const auto* subnet = at(port.port)) return subnet;
  }
  for (const auto& flow : wanted.flows) {
    if (const auto* subnet = at(flow.ports.from)) return subnet;
  }
  return nullptr;
}

}  // namespace

std::uint64_t guarantee_order(const QueueRules& rules, const Job& job) {
  const auto& classes = rules.policy.classes;
  const auto own = std::ranges::find(classes, job.spec.priority, &scheduler::PriorityClass::name);
  const std::int64_t value = own == classes.end() ? 0 : own->value;
  // One event places one job. Amended jobs may share a number; callers then order by job id.
  constexpr unsigned kSeqBits = 32;
  const auto rank = static_cast<std::uint64_t>(std::int64_t{INT32_MAX} - value);
  const std::uint64_t seq = job.guarantee ? job.guarantee->admitted_seq : 0;
  return rank << kSeqBits | std::min<std::uint64_t>(seq, UINT32_MAX);
}

std::optional<ViewBasis> basis_of(const FabricView& view) {
  ViewBasis basis;
  const auto& t = view.topology();
  std::size_t names = 0;
  for (const auto link : t.links()) {
    const bool down = !view.alive(link);
    const bool drained = view.drained(link);
    if ((down || drained) && ++names > ViewBasis::kMaxNames) return std::nullopt;
    if (down) basis.down_links.push_back(t.link_text(link));
    if (drained) basis.drained_links.push_back(t.link_text(link));
  }
  for (const auto sw : t.switches()) {
    if (!view.drained(sw)) continue;
    if (++names > ViewBasis::kMaxNames) return std::nullopt;
    basis.drained_switches.push_back(to_string(t.guid(sw)));
  }
  return basis;
}

Result<void> GuaranteeBook::bring_to(const ClusterState& state) {
  auto routes = routing_->at(state);
  if (!routes) return std::unexpected(routes.error());
  crossing_.clear();
  jobs_ = state.jobs;
  if (routes_ == nullptr || fabric_ != state.placement_fabric || classes_ != state.qos_classes ||
      rules_ != state.queue_rules) {
    rebuild(state, std::move(*routes));
  } else {
    std::vector<JobId> gone;
    for (auto& [id, entry] : entries_) {
      const JobPtr now = state.guaranteed->contains(id) ? state.jobs.find(id) : nullptr;
      // Another job had its lane on a link when it was added, and may have left it since.
      const bool lacks_lane = entry.reservation != nullptr && entry.reservation->lane != entry.job->guarantee->lane;
      const bool stays = now != nullptr && !lacks_lane &&
                         (entry.reservation == nullptr || !reaches_elsewhere(*now, *entry.reservation));
      if (now == entry.job && stays) continue;
      if (stays && same_reservation(*now, *entry.job)) {
        entry.job = now;
        continue;
      }
      drop(entry);
      gone.push_back(id);
    }
    for (const JobId id : gone) entries_.erase(id);
    if (*routes != routes_) follow_view(std::move(*routes));
  }
  for (const JobId id : *state.guaranteed) {
    if (entries_.contains(id)) continue;
    add(state.jobs.find(id));
    crossing_.push_back(id);
  }
  return {};
}

void GuaranteeBook::rebuild(const ClusterState& state, FabricRoutesPtr routes) {
  routes_ = std::move(routes);
  fabric_ = state.placement_fabric;
  classes_ = state.qos_classes;
  rules_ = state.queue_rules;
  basis_.reset();
  basis_routes_ = nullptr;
  entries_.clear();
  ledger_ = fabric::Ledger(fabric::whole_capacities_mbps(routes_->input.view), fabric::capacity_rules(*classes_));
  loads_ = std::make_unique<fabric::HoseLoads>(routes_->input.view, routes_->routing.tables);
  reach_ = std::make_unique<RankReach>(routes_->input.view, fabric_);
  ++version_;
}

void GuaranteeBook::follow_view(FabricRoutesPtr routes) {
  const FabricRoutesPtr before = std::exchange(routes_, std::move(routes));
  const bool is_spread_alike = routes_->input.view.is_spread_alike(before->input.view);
  if (!is_spread_alike) basis_.reset();
  const auto crossing = fabric::crossing_changes(ledger_, before->input.view, before->routing.tables,
                                                 routes_->input.view, routes_->routing.tables);
  ledger_.set_capacity(fabric::whole_capacities_mbps(routes_->input.view));
  loads_ = std::make_unique<fabric::HoseLoads>(routes_->input.view, routes_->routing.tables);
  reach_ = std::make_unique<RankReach>(routes_->input.view, fabric_);
  ++version_;
  // All leave their links before the first is added again: a lane is free where its owner was before.
  std::vector<JobPtr> again;
  for (const auto& reservation : crossing) {
    Entry& entry = entries_.at(job_of(*reservation));
    crossing_.push_back(entry.job->id);
    // Reservations for failures were computed on another view and stay until the state says that they are used up.
    if (entry.job->guarantee->covered && is_spread_alike) continue;
    again.push_back(entry.job);
    drop(entry);
  }
  for (const JobPtr& job : again) add(job);
}

void GuaranteeBook::add(const JobPtr& job) {
  Entry& entry = entries_[job->id];
  entry = {job, nullptr, true};
  if (job->guarantee->at_risk()) return;
  Wanted wanted = compute(job);
  entry.complete = wanted.complete;
  if (wanted.reservation == nullptr) return;
  entry.reservation = fabric::reserve_beside(ledger_, wanted.reservation);
  ++version_;
}

void GuaranteeBook::drop(Entry& entry) {
  if (entry.reservation == nullptr) return;
  (void)ledger_.release(entry.reservation->job, entry.reservation->qos_class);
  entry.reservation = nullptr;
  ++version_;
}

bool GuaranteeBook::incomplete(JobId job) const {
  const auto entry = entries_.find(job);
  return entry != entries_.end() && !entry->second.complete;
}

// A role that it sends to has started, moved or ended.
bool GuaranteeBook::reaches_elsewhere(const Job& now, const Reservation& reservation) const {
  if (between_roles_mbps(now.spec) <= 0 || now.guarantee->promise != fabric::TrafficPromise::hose) return false;
  const auto made = without_loads(now, routes_->scope());
  return made && made->ports != reservation.ports;
}

std::optional<Reservation> GuaranteeBook::without_loads(const Job& job, const fabric::RoutingScope& scope,
                                                        const JobAt* receiver) const {
  const JobGuarantee& guarantee = *job.guarantee;
  const auto at = std::ranges::find(*classes_, guarantee.qos_class, &fabric::QosClass::name);
  if (at == classes_->end()) return std::nullopt;
  Reservation made;
  made.job = to_string(job.id);
  made.tenant = job.spec.tenant;
  made.qos_class = static_cast<std::uint8_t>(at - classes_->begin());
  made.promise = guarantee.promise;
  made.survives_link_failure = guarantee.covered;
  made.reserved_permille = guarantee.reserved_permille;
  made.lane = guarantee.lane;
  made.order = guarantee_order(*rules_, job);
  if (guarantee.promise == fabric::TrafficPromise::hose) {
    made.ports =
        scheduler::hose_to(job_ports(*fabric_, job.placement.gpu_of_rank), guarantee.rate.value(),
                           receiving_ports(*fabric_, scope, jobs_, job.spec, job.placement.gpu_of_rank, receiver));
  } else {
    made.flows = job_pattern(*fabric_, scope, job.spec, job.placement.gpu_of_rank, guarantee.rate);
  }
  return made;
}

GuaranteeBook::Wanted GuaranteeBook::plain(const Job& job) { return plain_with(job, nullptr); }

GuaranteeBook::Wanted GuaranteeBook::plain_with(const Job& job, const JobAt* receiver) {
  auto made = without_loads(job, routes_->scope(), receiver);
  if (!made) return {nullptr, false};
  ++computed_;
  made->survives_link_failure = false;
  auto load = fabric::load_of_promise(*made, *loads_);
  made->loads = std::move(load.loads);
  const bool complete = load.complete && reach_->cut_off(job.placement.gpu_of_rank).empty();
  return {std::make_shared<const Reservation>(std::move(*made)), complete};
}

Result<GuaranteeBook::Wanted> GuaranteeBook::surviving(const Job& job) { return surviving_on(job, routes_); }

std::string GuaranteeBook::subnet_seen(const Job& job) const {
  const auto made = without_loads(job, routes_->scope());
  const auto* subnet = made ? subnet_seen_at(*routes_, *made) : nullptr;
  return subnet == nullptr ? std::string() : *subnet;
}

Result<void> GuaranteeBook::failures_known(const Reservation& wanted) const {
  const auto* subnet = subnet_seen_at(*routes_, wanted);
  if (subnet == nullptr) return {};
  return fail(
      ErrorKind::conflict, "admission.failuresUnknown",
      "the tables in force in subnet " + *subnet +
          " are not Railweave's: what they would be after a link failure is not known",
      {},
      "ask for a guarantee that need not survive failures, or let Railweave compute the routes (railweave subnets "
      "mode " +
          *subnet + " direct, or opensm)");
}

Result<GuaranteeBook::Wanted> GuaranteeBook::surviving_on(const Job& job, const FabricRoutesPtr& routes,
                                                          const JobAt* receiver) {
  auto made = without_loads(job, routes->scope(), receiver);
  if (!made) return Wanted{nullptr, false};
  if (auto known = failures_known(*made); !known) return std::unexpected(known.error());
  ++computed_;
  made->survives_link_failure = true;
  std::optional<fabric::HoseLoads> others;
  if (routes != routes_) others.emplace(routes->input.view, routes->routing.tables);
  const auto load = routes->failures().surviving(*routes, *made, others ? *others : *loads_);
  if (!load) return std::unexpected(load.error());
  made->loads = (*load)->worst.loads;
  const bool complete = (*load)->worst.complete && reach_->cut_off(job.placement.gpu_of_rank).empty();
  return Wanted{std::make_shared<const Reservation>(std::move(*made)), complete};
}

GuaranteeBook::Wanted GuaranteeBook::compute(const JobPtr& job) {
  if (!job->guarantee->covered) return plain(*job);
  const auto routes = routes_on(job->guarantee->basis);
  if (!routes) return plain(*job);
  auto wanted = surviving_on(*job, *routes);
  return wanted ? std::move(*wanted) : plain(*job);
}

Result<GuaranteeBook::Wanted> GuaranteeBook::reaching(const JobPtr& job, const JobAt& receiver) {
  if (!job->guarantee->covered) return plain_with(*job, &receiver);
  const auto made = without_loads(*job, routes_->scope(), &receiver);
  if (auto few = made ? few_unknown(*made) : Result<void>(); !few) return std::unexpected(few.error());
  return surviving_on(*job, routes_, &receiver);
}

Result<FabricRoutesPtr> GuaranteeBook::routes_on(const ViewBasis& basis) {
  if (basis_ != basis) {
    const auto now = basis_of(routes_->input.view);
    if (now == basis) return routes_;
    auto routes = routing_->on(view_on(routes_->input.view, basis), routes_->taken);
    if (!routes) return routes;
    basis_ = basis;
    basis_routes_ = std::move(*routes);
  }
  return basis_routes_;
}

// Admission also runs on the control thread, so the number of failures computed per call is bounded. Each refusal
// computes some of them, so that repeating the request succeeds in the end.
Result<void> GuaranteeBook::few_unknown(const Reservation& wanted) {
  const std::size_t unknown = routes_->failures().unknown(*routes_, wanted, *loads_);
  if (unknown <= kMaxUnknownFailures) return {};
  routes_->failures().compute(*routes_, wanted, *loads_, kFailuresPerRefusal);
  return fail(
      ErrorKind::conflict, "admission.tooManyFailures",
      fmt::format("the failure of {} links that may change the job's routes is not computed yet, more than {} at once",
                  unknown, kMaxUnknownFailures),
      {},
      "ask POST /v1/placements/query, which computes all of them without delaying changes; then repeat the "
      "request");
}

fabric::SurvivingLoadOf GuaranteeBook::surviving_load() {
  return [this](const Reservation& wanted) -> Result<fabric::SurvivingLoad> {
    if (auto known = failures_known(wanted); !known) return std::unexpected(known.error());
    if (auto few = few_unknown(wanted); !few) return std::unexpected(few.error());
    const auto load = routes_->failures().surviving(*routes_, wanted, *loads_);
    if (!load) return std::unexpected(load.error());
    return **load;
  };
}

std::size_t GuaranteeBook::unknown_failures(const Job& job) {
  const auto wanted = without_loads(job, routes_->scope());
  return wanted && failures_known(*wanted) ? routes_->failures().unknown(*routes_, *wanted, *loads_) : 0;
}

void GuaranteeBook::compute_failures(const Job& job, std::size_t limit) {
  const auto wanted = without_loads(job, routes_->scope());
  if (wanted && failures_known(*wanted)) routes_->failures().compute(*routes_, *wanted, *loads_, limit);
}

std::vector<double> GuaranteeBook::residual_mbps() const {
  const FabricView& view = routes_->input.view;
  std::vector<double> residual = fabric::link_capacities_mbps(view);
  for (const auto& reservation : ledger_.reservations()) {
    for (const auto& load : reservation->loads) residual[load.link] -= static_cast<double>(load.mbps);
  }
  for (double& mbps : residual) mbps = std::max(0.0, mbps);
  for (const auto link : view.topology().links()) {
    if (view.drained(link)) residual[link.index() * 2] = residual[link.index() * 2 + 1] = 0;
  }
  return residual;
}

}  // namespace railweave::control
