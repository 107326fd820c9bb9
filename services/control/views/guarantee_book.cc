#include "services/control/views/guarantee_book.h"

#include <algorithm>
#include <utility>

#include "fabric/capacity/reroute.h"
#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

using fabric::FabricView;
using fabric::Reservation;

constexpr std::size_t kMostUnknownFailures = 4'000, kFailuresPerRefusal = 1'000;

// Of a guarantee, what its reservation follows from.
bool reserves_alike(const Job& a, const Job& b) {
  const JobGuarantee &x = *a.guarantee, &y = *b.guarantee;
  return x.qos_class == y.qos_class && x.promise == y.promise && x.rate == y.rate &&
         x.reserved_permille == y.reserved_permille && x.survives_link_failure == y.survives_link_failure &&
         x.covered == y.covered && x.basis == y.basis && x.at_risk() == y.at_risk() &&
         x.admitted_seq == y.admitted_seq && a.placement.gpu_of_rank == b.placement.gpu_of_rank;
}

FabricView view_on(const fabric::TopologyPtr& topology, const ViewBasis& basis) {
  FabricView view(topology);
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

std::uint64_t guarantee_order(const QueueRules& rules, const Job& job) {
  const auto& classes = rules.policy.classes;
  const auto own = std::ranges::find(classes, job.spec.priority, &scheduler::PriorityClass::name);
  const std::int64_t value = own == classes.end() ? 0 : own->value;
  // Two jobs placed by one event do not exist; amended ones may share a number: the job's own settles it.
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
  if (routes_ == nullptr || fabric_ != state.placement_fabric || classes_ != state.qos_classes ||
      rules_ != state.queue_rules) {
    start_anew(state, std::move(*routes));
  } else {
    std::vector<JobId> gone;
    for (auto& [id, entry] : entries_) {
      const JobPtr now = state.guaranteed->contains(id) ? state.jobs.find(id) : nullptr;
      if (now == entry.job) continue;
      if (now != nullptr && reserves_alike(*now, *entry.job)) {
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

void GuaranteeBook::start_anew(const ClusterState& state, FabricRoutesPtr routes) {
  routes_ = std::move(routes);
  fabric_ = state.placement_fabric;
  classes_ = state.qos_classes;
  rules_ = state.queue_rules;
  basis_.reset();
  basis_routes_ = nullptr;
  entries_.clear();
  ledger_ = fabric::Ledger(fabric::whole_capacities_mbps(routes_->input.view), fabric::capacity_rules(*classes_));
  loads_ = std::make_unique<fabric::HoseLoads>(routes_->input.view, routes_->routing.tables);
  ++version_;
}

void GuaranteeBook::follow_view(FabricRoutesPtr routes) {
  const FabricRoutesPtr before = std::exchange(routes_, std::move(routes));
  const auto crossing = fabric::crossing_changes(ledger_, before->input.view, before->routing.tables,
                                                 routes_->input.view, routes_->routing.tables);
  ledger_.set_capacity(fabric::whole_capacities_mbps(routes_->input.view));
  loads_ = std::make_unique<fabric::HoseLoads>(routes_->input.view, routes_->routing.tables);
  ++version_;
  for (const auto& reservation : crossing) {
    Entry& entry = entries_.at(job_of(*reservation));
    crossing_.push_back(entry.job->id);
    // What any failure would need was taken as of another view, and stays until the state says that it is used up.
    if (entry.job->guarantee->covered) continue;
    const JobPtr job = entry.job;
    drop(entry);
    add(job);
  }
}

void GuaranteeBook::add(const JobPtr& job) {
  Entry& entry = entries_[job->id];
  entry = {job, nullptr, true};
  if (job->guarantee->at_risk()) return;
  Wanted wanted = computed_for(job);
  entry.complete = wanted.complete;
  if (wanted.reservation == nullptr) return;
  entry.reservation = std::move(wanted.reservation);
  ledger_.reserve(entry.reservation);
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

std::optional<Reservation> GuaranteeBook::bare(const Job& job, const fabric::RoutingScope& scope) const {
  const JobGuarantee& guarantee = *job.guarantee;
  const auto at = std::ranges::find(*classes_, guarantee.qos_class, &fabric::QosClass::name);
  if (at == classes_->end()) return std::nullopt;
  Reservation bare;
  bare.job = to_string(job.id);
  bare.tenant = job.spec.tenant;
  bare.qos_class = static_cast<std::uint8_t>(at - classes_->begin());
  bare.promise = guarantee.promise;
  bare.survives_link_failure = guarantee.covered;
  bare.reserved_permille = guarantee.reserved_permille;
  bare.order = guarantee_order(*rules_, job);
  if (guarantee.promise == fabric::TrafficPromise::hose) {
    for (const auto port : job_ports(*fabric_, job.placement.gpu_of_rank)) {
      bare.ports.push_back({port, guarantee.rate.value(), guarantee.rate.value()});
    }
  } else {
    bare.flows = job_pattern(*fabric_, scope, job.spec, job.placement.gpu_of_rank, guarantee.rate);
  }
  return bare;
}

GuaranteeBook::Wanted GuaranteeBook::plain(const Job& job) {
  auto made = bare(job, routes_->scope());
  if (!made) return {nullptr, false};
  ++computed_;
  made->survives_link_failure = false;
  auto load = fabric::load_of_promise(*made, *loads_, fabric::PathWalker(loads_->view(), loads_->tables()));
  made->loads = std::move(load.loads);
  return {std::make_shared<const Reservation>(std::move(*made)), load.complete};
}

Result<GuaranteeBook::Wanted> GuaranteeBook::surviving(const Job& job) { return surviving_on(job, routes_); }

Result<GuaranteeBook::Wanted> GuaranteeBook::surviving_on(const Job& job, const FabricRoutesPtr& routes) {
  auto made = bare(job, routes->scope());
  if (!made) return Wanted{nullptr, false};
  ++computed_;
  made->survives_link_failure = true;
  std::optional<fabric::HoseLoads> others;
  if (routes != routes_) others.emplace(routes->input.view, routes->routing.tables);
  const auto load = routes->failures().surviving(*routes, *made, others ? *others : *loads_);
  if (!load) return std::unexpected(load.error());
  made->loads = (*load)->worst.loads;
  return Wanted{std::make_shared<const Reservation>(std::move(*made)), (*load)->worst.complete};
}

GuaranteeBook::Wanted GuaranteeBook::computed_for(const JobPtr& job) {
  if (!job->guarantee->covered) return plain(*job);
  const auto routes = routes_on(job->guarantee->basis);
  if (!routes) return plain(*job);
  auto wanted = surviving_on(*job, *routes);
  return wanted ? std::move(*wanted) : plain(*job);
}

Result<FabricRoutesPtr> GuaranteeBook::routes_on(const ViewBasis& basis) {
  if (basis_ != basis) {
    const auto now = basis_of(routes_->input.view);
    if (now == basis) return routes_;
    auto routes = routing_->on(view_on(routes_->input.view.topology_ptr(), basis));
    if (!routes) return routes;
    basis_ = basis;
    basis_routes_ = std::move(*routes);
  }
  return basis_routes_;
}

fabric::SurvivingLoadOf GuaranteeBook::surviving_load() {
  return [this](const Reservation& wanted) -> Result<fabric::SurvivingLoad> {
    // The control thread admits, too: it looks at so many failures and no more. Each refusal leaves fewer.
    const std::size_t unknown = routes_->failures().unknown(wanted, *loads_);
    if (unknown > kMostUnknownFailures) {
      routes_->failures().look_at(*routes_, wanted, *loads_, kFailuresPerRefusal);
      return fail(
          ErrorKind::conflict, "admission.tooManyFailures",
          std::to_string(unknown) + " links that the job crosses may fail and were not looked at yet, more than " +
              std::to_string(kMostUnknownFailures),
          {}, "ask POST /v1/placements/query, which looks at them all beside what changes the state; then repeat");
    }
    const auto load = routes_->failures().surviving(*routes_, wanted, *loads_);
    if (!load) return std::unexpected(load.error());
    return **load;
  };
}

std::size_t GuaranteeBook::unknown_failures(const Job& job) {
  const auto wanted = bare(job, routes_->scope());
  return wanted ? routes_->failures().unknown(*wanted, *loads_) : 0;
}

void GuaranteeBook::look_at_failures(const Job& job, std::size_t most) {
  if (const auto wanted = bare(job, routes_->scope())) routes_->failures().look_at(*routes_, *wanted, *loads_, most);
}

std::vector<double> GuaranteeBook::residual_mbps() const {
  const FabricView& view = routes_->input.view;
  std::vector<double> left = fabric::link_capacities_mbps(view);
  for (const auto link : view.topology().links()) {
    for (const fabric::DirectedLink way : {link.index() * 2, link.index() * 2 + 1}) {
      if (view.drained(link)) {
        left[way] = 0;
        continue;
      }
      std::int64_t reserved = 0;
      for (std::uint8_t c = 0; c < ledger_.classes(); ++c) reserved += ledger_.reserved_mbps(way, c);
      left[way] = std::max(0.0, left[way] - static_cast<double>(reserved));
    }
  }
  return left;
}

}  // namespace railweave::control
