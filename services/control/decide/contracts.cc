#include "services/control/decide/contracts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/port_rules.h"
#include "services/control/guarantees/remarked_jobs.h"

namespace railweave::control {
namespace {

bool same_classes(const fabric::QosClasses& a, const fabric::QosClasses& b) {
  return std::ranges::equal(a, b, [](const fabric::QosClass& x, const fabric::QosClass& y) {
    return x.name == y.name && x.share_permille == y.share_permille && x.priority == y.priority && x.bound == y.bound &&
           x.lossless == y.lossless && x.dscp == y.dscp && x.open == y.open;
  });
}

bool has_class(const fabric::QosClasses& classes, const std::string& name) {
  return std::ranges::any_of(classes, [&](const auto& one) { return one.name == name; });
}

// Jobs that would not fit, and the links concerned.
struct Misfits {
  std::string jobs;
  std::size_t count = 0;
  std::vector<BlockedLink> links;

  void add(JobId job, std::vector<BlockedLink> blocked) {
    if (++count <= 10) jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", to_string(job));
    for (auto& link : blocked) {
      link.wanted_by = to_string(job);
      if (links.size() < 32) links.push_back(std::move(link));
    }
  }
  [[nodiscard]] Rejection refusal(std::string code, const std::string& why) const {
    std::string text = fmt::format("{} running job(s) would not fit: {}{}", count, jobs, count > 10 ? "..." : "");
    if (!why.empty()) text += " (" + why + ")";
    return {{ErrorKind::conflict, std::move(code), std::move(text), {}, "end these jobs first, or guarantee less"},
            nullptr,
            links};
  }
};

bool same_terms(const JobGuarantee& a, const JobGuarantee& b) {
  return a.qos_class == b.qos_class && a.promise == b.promise && a.rate == b.rate && a.most == b.most &&
         a.reserved_permille == b.reserved_permille && a.survives_link_failure == b.survives_link_failure &&
         a.isolation == b.isolation && a.lane == b.lane;
}

// What the job would lose by its amended guarantee; "": nothing. (after: none: it would be best effort.)
std::string loss_of(const JobGuarantee& before, const std::optional<JobGuarantee>& after) {
  if (!after) return rate_text(before.rate) + " -> none";
  if (after->rate < before.rate) return rate_text(before.rate) + " -> " + rate_text(after->rate);
  if (before.survives_link_failure && !after->survives_link_failure) return "no link failure is survived any more";
  if (after->reserved_permille < before.reserved_permille) return "less of the rate is reserved";
  if (before.promise == fabric::TrafficPromise::hose && after->promise != before.promise) return "hose -> pattern";
  if (after->isolation < before.isolation) {
    return fmt::format("isolation {} -> {}", railweave::to_text(before.isolation),
                       railweave::to_text(after->isolation));
  }
  return {};
}

// Running jobs that would be left with less than they were guaranteed.
class Losses {
 public:
  void add(JobId job, const std::string& loss) {
    if (loss.empty()) return;
    if (++count_ <= 10) jobs_ += fmt::format("{}{} ({})", jobs_.empty() ? "" : ", ", to_string(job), loss);
  }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] Rejection refusal(const std::string& tenant) const {
    return {{ErrorKind::conflict,
             "contracts.weakensGuarantees",
             fmt::format("{}{} of {} would be left with less than what is guaranteed: {}{}", count_,
                         count_ == 1 ? " running job" : " running jobs", tenant, jobs_, count_ > 10 ? "..." : ""),
             {},
             "wait for them to end, or say that this is meant: withdraw=true (railweave contracts set --withdraw)"},
            nullptr};
  }

 private:
  std::string jobs_;
  std::size_t count_ = 0;
};

// Amends the guarantees of the tenant's jobs to the new contract, in guarantee_order().
std::optional<Rejection> amend_jobs(const ClusterState& state, const PutContract& command, std::uint16_t pkey,
                                    GuaranteeBook& book, std::vector<EventBody>& events) {
  const scheduler::Contract& terms = command.terms;
  std::vector<JobPtr> jobs;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->holds_gpus() && job->spec.tenant == terms.tenant) jobs.push_back(job);
    return true;
  });
  if (jobs.empty()) return std::nullopt;
  ClusterState after = state;
  apply(after, Event{state.seq + 1, state.term, 0, {}, ContractPut{terms, pkey}});
  std::ranges::stable_sort(jobs, {}, [&](const JobPtr& job) { return guarantee_order(*state.queue_rules, *job); });
  Misfits misfits;
  std::string why;
  const auto refuse_job = [&](JobId job, const Rejection& rejection) {
    if (why.empty()) why = rejection.error.whole().whole_text();  // contracts are administrators'
    misfits.add(job, rejection.links);
  };
  fabric::Ledger ledger;
  bool at_state = false;
  // All amended jobs release their reservations before the first is granted again.
  std::vector<std::pair<JobPtr, std::optional<scheduler::Contract>>> changed;
  for (const auto& job : jobs) {
    auto own = job_terms(after, job->spec);
    if (!own) {
      refuse_job(job->id, {own.error(), nullptr});
      continue;
    }
    if (!*own && !job->guarantee) continue;
    if (!at_state) {
      if (auto brought = book.bring_to(state); !brought) return Rejection{brought.error(), nullptr};
      ledger = book.ledger();
      at_state = true;
    }
    for (const auto& held : ledger.reservations_of(to_string(job->id))) {
      (void)ledger.release(held->job, held->qos_class);
    }
    changed.emplace_back(job, std::move(*own));
  }
  Losses losses;
  for (const auto& [job, own] : changed) {
    GuaranteeChanged event{job->id, terms.tenant, GuaranteeChange::amended, {}, 0};
    if (own) {
      const auto lane = job->guarantee ? job->guarantee->lane : std::nullopt;
      auto granted = grant(after, {to_string(job->id), job->spec, job->placement, *own, lane}, ledger, book);
      if (!granted) {
        if (granted.error().error.code == "admission.tooManyFailures") return std::move(granted.error());
        refuse_job(job->id, granted.error());
        continue;
      }
      if (granted->reservation) ledger.reserve(granted->reservation);
      event.guarantee = std::move(granted->guarantee);
      if (job->guarantee) {
        if (same_terms(*job->guarantee, *event.guarantee)) continue;
        event.guarantee->admitted_seq = job->guarantee->admitted_seq;
        event.guarantee->at_risk_total_us = job->guarantee->at_risk_total_us;
      }
    }
    if (job->guarantee) losses.add(job->id, loss_of(*job->guarantee, event.guarantee));
    events.emplace_back(std::move(event));
  }
  if (misfits.count > 0) return misfits.refusal("contracts.jobsDoNotFit", why);
  if (losses.any() && !command.withdraw) return losses.refusal(terms.tenant);
  return std::nullopt;
}

// Jobs whose ranks would have to be started again to send in their class or lane.
std::optional<Rejection> refuse_remarked(const ClusterState& state, const fabric::QosClasses& classes) {
  const auto remarked = remarked_jobs(state, classes);
  if (remarked.empty()) return std::nullopt;
  constexpr std::size_t kNamed = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(remarked.size(), kNamed); ++i) {
    const JobPtr job = state.jobs.find(remarked[i]);
    names += fmt::format("{}{} in {}", i == 0 ? "" : ", ", to_string(job->id), job->guarantee->qos_class);
  }
  if (remarked.size() > kNamed) names += ", ...";
  return Rejection{
      {ErrorKind::conflict,
       "qosClasses.jobsRemarked",
       fmt::format(
           "ranks of {} running job(s) were started with marks that would be of another class or lane, or of none: {}",
           remarked.size(), names),
       {},
       "let these jobs end first, or repeat it with force: they have their class and lane back when their ranks "
       "start again"},
      nullptr};
}

// Checks the present reservations against other shares of classes. force: only whether ports can hold these classes at all.
std::optional<Rejection> refit(const ClusterState& state, const fabric::QosClasses& classes, GuaranteeBook& book,
                               bool force) {
  if (state.guaranteed->empty() && state.port_limits->empty()) return std::nullopt;
  if (auto brought = book.bring_to(state); !brought) return Rejection{brought.error(), nullptr};
  const auto rules = ports_hold(state, classes, book);
  if (!rules) {
    Error error = rules.error();
    error.kind = ErrorKind::conflict;
    return Rejection{std::move(error), nullptr};
  }
  if (force) return std::nullopt;  // what does not fit is at risk, in the same transaction
  fabric::PortPromises promises(classes, rules->arbitration, rules->routing.lanes);
  const unsigned lanes = owned_lanes(state, classes, book);
  Misfits misfits;
  fabric::Ledger ledger(fabric::whole_capacities_mbps(state.view), fabric::capacity_rules(classes));
  for (const JobId id : *state.guaranteed) {
    const auto& name = state.jobs.find(id)->guarantee->qos_class;
    const auto at = std::ranges::find(classes, name, &fabric::QosClass::name);
    if (at == classes.end()) {
      misfits.add(id, {});
      continue;
    }
    for (const auto& held : book.ledger().reservations_of(to_string(id))) {
      auto moved = std::make_shared<fabric::Reservation>(*held);
      moved->qos_class = static_cast<std::uint8_t>(at - classes.begin());
      std::vector<scheduler::Rejected::Where> full;
      auto links = ledger.full_links(moved->loads, moved->qos_class);
      if (links.empty()) {
        links = promises.full_links(state.topology(), ledger, {moved->loads, moved->qos_class, moved->lane});
      }
      for (auto& link : links) {
        full.push_back({scheduler::directed_link_text(state.topology(), link.link), std::move(link)});
      }
      // A lane of its own that the classes would take.
      const bool loses_lane = moved->lane && *moved->lane >= lanes;
      if (!full.empty() || loses_lane) misfits.add(id, blocked_links(full));
      ledger.reserve(std::move(moved));
    }
  }
  if (misfits.count == 0) return std::nullopt;
  return misfits.refusal("qosClasses.jobsDoNotFit", {});
}

}  // namespace

DecisionResult decide_contract(const ClusterState& state, const PutContract& command, PlacerCache& placers) {
  const std::string& tenant = command.terms.tenant;
  const auto present = state.contracts->find(tenant);
  const std::uint64_t version = present == state.contracts->end() ? 0 : present->second.version;
  if (command.if_version && *command.if_version != version) {
    return refuse_version("the contract", *command.if_version, version);
  }
  if (const auto checked = scheduler::check_contract(command.terms); !checked) {
    return std::unexpected(Rejection{checked.error(), nullptr});
  }
  if (!state.tenants->contains(tenant)) {
    return refuse(ErrorKind::notFound, "tenants.notFound", "there is no tenant '" + tenant + "'",
                  "create it first: PUT /v1/tenants/" + tenant);
  }
  for (const auto& name : command.terms.classes) {
    if (has_class(*state.qos_classes, name)) continue;
    return refuse(ErrorKind::impossible, "contracts.unknownClass", "there is no class '" + name + "'",
                  "GET /v1/qos-classes lists them");
  }
  if (version != 0 && present->second.terms == command.terms) return Decision{};
  const std::uint16_t pkey = version != 0 ? present->second.pkey : free_pkey(*state.contracts);
  if (pkey == 0) {
    return refuse(ErrorKind::conflict, "contracts.noKeys", "all partition keys are used by other contracts",
                  "remove contracts that no job uses");
  }
  std::vector<EventBody> events{ContractPut{command.terms, pkey}};
  if (auto refused = amend_jobs(state, command, pkey, placers.guarantees(), events)) {
    return std::unexpected(std::move(*refused));
  }
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const PutContract& command) {
  return decide_contract(in.state, command, in.placers);
}

DecisionResult decide_command(const DecisionInput& in, const RemoveContract& command) {
  const ClusterState& state = in.state;
  const auto present = state.contracts->find(command.tenant);
  if (present == state.contracts->end()) {
    return refuse(ErrorKind::notFound, "contracts.notFound", "tenant '" + command.tenant + "' has no contract",
                  "GET /v1/contracts lists them");
  }
  if (command.if_version && *command.if_version != present->second.version) {
    return refuse_version("the contract", *command.if_version, present->second.version);
  }
  std::string jobs;
  for (const JobId id : *state.guaranteed) {
    if (state.jobs.find(id)->spec.tenant == command.tenant)
      jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", to_string(id));
  }
  if (!jobs.empty()) {
    return refuse(ErrorKind::conflict, "contracts.inUse", "guarantees of running jobs depend on the contract: " + jobs,
                  "end these jobs first");
  }
  if (const auto held = state.gpus_held->find(command.tenant); held != state.gpus_held->end()) {
    return refuse(ErrorKind::conflict, "contracts.inUse",
                  "jobs of " + command.tenant + " are running in its partition, with its key", "end these jobs first");
  }
  return Decision{{ContractRemoved{command.tenant}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const PutQosClasses& command) {
  const ClusterState& state = in.state;
  if (command.if_version && *command.if_version != state.qos_version) {
    return refuse_version("the list of classes", *command.if_version, state.qos_version);
  }
  if (const auto checked = fabric::check_qos_classes(command.classes); !checked) {
    return std::unexpected(Rejection{checked.error(), nullptr});
  }
  if (same_classes(command.classes, *state.qos_classes)) return Decision{};
  for (const auto& [tenant, contract] : *state.contracts) {
    for (const auto& name : contract.terms.classes) {
      if (has_class(command.classes, name)) continue;
      return refuse(ErrorKind::conflict, "qosClasses.inUse",
                    "the contract of " + tenant + " names class " + name + ", which would be removed",
                    "change the contract first");
    }
  }
  if (auto refused = refit(state, command.classes, in.placers.guarantees(), command.force)) {
    return std::unexpected(std::move(*refused));
  }
  auto remarks = refuse_remarked(state, command.classes);
  if (remarks && !command.force) return std::unexpected(std::move(*remarks));
  return Decision{{QosClassesPut{command.classes, command.force}}, {}, false};
}

}  // namespace railweave::control
