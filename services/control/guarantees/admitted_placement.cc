#include "services/control/guarantees/admitted_placement.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"
#include "services/control/guarantees/bandwidth_counterfactuals.h"
#include "services/control/guarantees/placement_tries.h"
#include "services/control/guarantees/port_rules.h"
#include "services/control/guarantees/role_senders.h"
#include "services/control/views/job_ports.h"
#include "services/control/views/nvlink_ownership.h"
#include "services/control/views/role_terms.h"

namespace railweave::control {
namespace {

using fabric::HostId;
using fabric::PortId;
using scheduler::Contract;
using scheduler::JobSpec;
using scheduler::Outcome;

Rejection refusal(Error error) { return {std::move(error), nullptr}; }

bool all_links_up(const ClusterState& state) {
  return state.placement_fabric->whole() == nullptr &&
         std::ranges::all_of(state.topology().links(), [&](auto link) { return state.view.carries_transit(link); });
}

// Loads are computed on one route for each pair of ports. Ethernet switches choose among several by a hash of each flow:
// collisions make a link several times as full as that. A lane of its own comes with routes of Railweave's own.
bool crosses_hashed_links(const fabric::Topology& t, const fabric::LoadVector& loads) {
  return std::ranges::any_of(loads, [&](const fabric::LinkLoad& load) {
    const auto link = fabric::link_of(load.link);
    return t.joins_switches(link) && t.spec(link).kind == fabric::LinkKind::ethernet;
  });
}

// Those of drained nodes are of no use to a new job, as where the placer explains.
std::uint64_t usable_free_gpus(const ClusterState& state) {
  std::uint64_t free = 0;
  for (const HostId host : state.topology().hosts()) {
    const auto& allocation = state.allocations[host.index()];
    if (allocation.unavailable) continue;
    free += state.topology().gpus(host).size() -
            static_cast<std::size_t>(std::popcount(allocation.used | allocation.closed));
  }
  return free;
}

// Checked before placement: a job over its limit is refused for that reason, whatever is free.
std::optional<Rejection> over_contract_gpus(const ClusterState& state, const std::string& tenant, std::uint64_t gpus) {
  const auto contract = state.contracts->find(tenant);
  if (contract == state.contracts->end() || !contract->second.terms.max_gpus) return std::nullopt;
  const std::uint64_t limit = *contract->second.terms.max_gpus;
  const auto held = state.gpus_held->find(tenant);
  const std::uint64_t holds = held == state.gpus_held->end() ? 0 : held->second;
  if (holds + gpus <= limit) return std::nullopt;
  return refusal({gpus > limit ? ErrorKind::impossible : ErrorKind::conflict,
                  "contracts.gpuLimit",
                  fmt::format("the contract of {} allows {} GPUs, the tenant holds {}, and the job needs {}", tenant,
                              limit, holds, gpus),
                  {},
                  "wait for the tenant's jobs to end, or change the contract"});
}

}  // namespace

std::optional<Rejection> cut_off(const ClusterState& state, const JobSpec& spec, const scheduler::Placement& placement,
                                 const JobReach& reach) {
  // Where the placer predicts times it has looked at paths: it refuses a job without them.
  if (placement.predicted && placement.predicted->reachable) return std::nullopt;
  auto why = reach.cut_off(spec, placement.gpu_of_rank);
  if (!why) return std::nullopt;
  return refusal({all_links_up(state) ? ErrorKind::impossible : ErrorKind::conflict,
                  "jobs.unreachable",
                  "the ranks that GPUs are found for could not communicate: " + *why,
                  {},
                  "cable the network, or keep the job inside one part of it with a required level"});
}

Rejection as_answer(const ClusterState& state, Rejection rejection) {
  if (rejection.placement != nullptr) return rejection;  // the search's own explanation says more
  const bool never = rejection.error.kind == ErrorKind::impossible;
  if (!never && rejection.error.kind != ErrorKind::conflict) return rejection;
  scheduler::PlacementResult why;
  why.outcome = never ? Outcome::never : Outcome::not_now;
  why.explanation.code = rejection.error.code;
  why.explanation.more = rejection.error.whole();
  why.explanation.free_gpus = usable_free_gpus(state);
  why.explanation.total_gpus = state.topology().gpus().size();
  rejection.placement = std::make_shared<const scheduler::PlacementResult>(std::move(why));
  return rejection;
}

void add_hosts_behind(const ClusterState& state, const GuaranteeBook& book, const std::vector<PortId>& ports,
                      const std::vector<scheduler::Rejected::Where>& links, std::set<HostId>& hosts) {
  const auto& t = state.topology();
  std::set<fabric::SwitchId> leaves;
  const auto& scope = book.routes()->scope();
  for (const auto& where : links) {
    const auto link = fabric::link_of(where.full.link);
    for (const PortId end : {t.a(link), t.b(link)}) {
      if (const auto hca = t.hca_of(end)) {
        hosts.insert(t.host(hca));
      } else if (t.is_switch_port(end)) {
        leaves.insert(t.switch_of(end));
      }
    }
  }
  for (const PortId port : ports) {
    const auto id = scope.find(port);
    if (!id || !leaves.contains(scope.destination(id).home)) continue;
    // Every host on that leaf would send over the same links.
    for (const PortId down : t.ports(scope.destination(id).home)) {
      const PortId peer = t.peer(down);
      const auto hca = peer ? t.hca_of(peer) : fabric::HcaId();
      if (hca && t.host(hca)) hosts.insert(t.host(hca));
    }
  }
}

std::optional<Rejection> over_quota(const ClusterState& state, const JobSpec& spec,
                                    const scheduler::Placement& placement) {
  if (auto over = over_contract_gpus(state, spec.tenant, placement.gpu_of_rank.size())) return over;
  const auto contract = state.contracts->find(spec.tenant);
  if (contract == state.contracts->end() || !contract->second.terms.max_nvlink_domains) return std::nullopt;
  auto assigned = nvlink_ownership(state, spec.tenant)
                      .assign(state.topology(), contract->second.terms, "this job", placement.gpu_of_rank);
  if (!assigned) return refusal(assigned.error());
  return std::nullopt;
}

std::expected<Grant, Rejection> grant_within_quota(const ClusterState& state, const JobSpec& spec,
                                                   const scheduler::Placement& placement,
                                                   const std::optional<Contract>& terms, GuaranteeBook& book,
                                                   std::vector<scheduler::Rejected::Where>* blocked) {
  if (auto over = over_quota(state, spec, placement)) return std::unexpected(std::move(*over));
  if (!terms && !receives_from_roles(spec)) return Grant{};
  if (auto brought = book.bring_to(state); !brought) return std::unexpected(refusal(brought.error()));
  if (!terms) {
    fabric::Ledger trial = book.ledger();
    auto renewed = renew_senders(state, spec, "this job", placement, trial, book, blocked);
    if (!renewed) return std::unexpected(std::move(renewed.error()));
    return Grant{std::nullopt, nullptr, {}, std::move(*renewed)};
  }
  return grant(state, {"this job", spec, placement, *terms}, book.ledger(), book, blocked);
}

std::vector<BlockedLink> blocked_links(const std::vector<scheduler::Rejected::Where>& links) {
  std::vector<BlockedLink> blocked;
  for (const auto& where : links) {
    BlockedLink one{where.link, {}, where.full.wanted_mbps, where.full.reserved_mbps, where.full.limit_mbps, {}};
    for (const auto& holder : where.full.holders) one.holders.push_back({holder.job, holder.mbps});
    blocked.push_back(std::move(one));
  }
  return blocked;
}

namespace {

JobGuarantee guarantee_of(const Contract& terms, std::size_t ports) {
  const auto share =
      static_cast<std::int64_t>(terms.basis == scheduler::RateBasis::per_job ? std::max<std::size_t>(1, ports) : 1);
  JobGuarantee guarantee;
  guarantee.qos_class = terms.classes.front();
  guarantee.promise = terms.promise;
  guarantee.survives_link_failure = terms.survives_link_failure;
  guarantee.reserved_permille = terms.reserved_permille;
  guarantee.isolation = terms.isolation;
  guarantee.rate = RateMbps(terms.guaranteed.value() / share);
  guarantee.most = terms.most ? RateMbps(terms.most->value() / share) : RateMbps(0);
  return guarantee;
}

// What one may take to be in the guarantee and is not.
std::vector<std::string> not_promised(const ClusterState& state, const JobSpec& spec,
                                      const scheduler::Placement& placement) {
  std::vector<std::string> texts;
  if (spans_sites(*state.placement_fabric, placement.gpu_of_rank)) {
    texts.emplace_back("the guarantee holds inside each site: nothing is reserved on the links between them");
  }
  if (sends_to_roles(spec) && between_roles_mbps(spec) <= 0) {
    texts.emplace_back(
        "the guarantee is of the job's own ports: nothing is reserved for what it sends to other roles, unless "
        "bandwidth.betweenRolesGbpsPerPort says how much");
  }
  return texts;
}

// Beside what is reserved in the ledger, whatever sends to the job.
std::expected<Grant, Rejection> grant_own(const ClusterState& state, const GrantRequest& wanted,
                                          const fabric::Ledger& ledger, GuaranteeBook& book,
                                          std::vector<scheduler::Rejected::Where>* blocked) {
  const Contract& terms = wanted.terms;
  scheduler::BandwidthRequest request;
  request.job = wanted.job;
  request.ports = job_ports(*state.placement_fabric, wanted.placement.gpu_of_rank);
  request.order = state.seq + 1;
  if (request.ports.empty()) {
    return std::unexpected(refusal({ErrorKind::impossible,
                                    "admission.noPorts",
                                    "the chosen GPUs have no adapter port, so no bandwidth can be guaranteed",
                                    {},
                                    "set bandwidth.guaranteedGbpsPerPort to 0 for best effort"}));
  }
  JobGuarantee guarantee = guarantee_of(terms, request.ports.size());
  if (guarantee.rate.value() == 0) {
    return std::unexpected(refusal({ErrorKind::impossible,
                                    "admission.nothingPromised",
                                    "divided by the job's number of ports the guarantee is less than 1 Mb/s",
                                    {},
                                    {}}));
  }
  if (between_roles_mbps(wanted.spec) > guarantee.rate.value()) {
    return std::unexpected(
        refusal({ErrorKind::impossible,
                 "admission.betweenRoles",
                 fmt::format("its own ports are guaranteed {}: those of other roles cannot be promised {}",
                             rate_text(guarantee.rate), rate_text(RateMbps(between_roles_mbps(wanted.spec)))),
                 "/bandwidth/betweenRolesGbpsPerPort",
                 {}}));
  }
  std::vector<std::string> not_covered = not_promised(state, wanted.spec, wanted.placement);
  request.receivers = receiving_ports(*state.placement_fabric, book.routes()->scope(), state.jobs, wanted.spec,
                                      wanted.placement.gpu_of_rank);
  if (terms.promise == fabric::TrafficPromise::pattern) {
    request.flows = job_pattern(*state.placement_fabric, book.routes()->scope(), wanted.spec,
                                wanted.placement.gpu_of_rank, guarantee.rate);
    // On one host or in one NVLink domain the job sends nothing over the network: nothing to reserve.
    if (request.flows.empty()) return Grant{std::move(guarantee), nullptr, std::move(not_covered), {}};
  }
  const auto held = ports_hold(state, book.classes(), book);
  if (!held) return std::unexpected(refusal(held.error()));
  request.lane = wanted.lane;
  const unsigned lanes = terms.isolation == scheduler::Isolation::lane ? owned_lanes(state, book.classes(), book) : 0;
  scheduler::BandwidthAdmission admission(book.classes(), ledger, book.loads(), book.surviving_load(),
                                          held->arbitration, held->routing.lanes, lanes);
  auto result = admission.admit(terms, request);
  if (auto* rejected = std::get_if<scheduler::Rejected>(&result)) {
    Rejection rejection{std::move(rejected->reason), nullptr, blocked_links(rejected->links)};
    if (blocked != nullptr) *blocked = std::move(rejected->links);
    return std::unexpected(std::move(rejection));
  }
  auto& admitted = std::get<scheduler::Admitted>(result);
  if (terms.isolation != scheduler::Isolation::lane &&
      crosses_hashed_links(state.topology(), admitted.reservation->loads)) {
    return std::unexpected(refusal(
        {ErrorKind::conflict,
         "admission.hashedRoutes",
         "the job would cross Ethernet links between switches: they hash flows onto links, "
         "so that what one link carries is not bounded by a single route of each pair",
         {},
         "require one leafGroup for the job, set bandwidth.guaranteedGbpsPerPort to 0, or set isolation to lane in "
         "the contract and give switches the configuration that Railweave makes"}));
  }
  guarantee.lane = admitted.reservation->lane;
  if (guarantee.survives_link_failure) {
    auto basis = basis_of(state.view);
    guarantee.covered = basis.has_value();
    if (basis) guarantee.basis = std::move(*basis);
  }
  for (const auto& warning : not_covered) admitted.warnings.push_back(warning);
  return Grant{std::move(guarantee), std::move(admitted.reservation), std::move(admitted.warnings), {}};
}

}  // namespace

std::expected<Grant, Rejection> grant(const ClusterState& state, const GrantRequest& wanted,
                                      const fabric::Ledger& ledger, GuaranteeBook& book,
                                      std::vector<scheduler::Rejected::Where>* blocked) {
  const JobPtr here = state.jobs.find(parse_job_id(wanted.job).value_or(JobId()));
  const bool stays =
      here != nullptr && here->holds_gpus() && here->placement.gpu_of_rank == wanted.placement.gpu_of_rank;
  // Where it is already, what sends to it has that reserved.
  if (stays || !receives_from_roles(wanted.spec)) return grant_own(state, wanted, ledger, book, blocked);
  fabric::Ledger trial = ledger;
  auto renewed = renew_senders(state, wanted.spec, wanted.job, wanted.placement, trial, book, blocked);
  if (!renewed) return std::unexpected(std::move(renewed.error()));
  auto own = grant_own(state, wanted, trial, book, blocked);
  if (own) own->renewed = std::move(*renewed);
  return own;
}

Result<std::optional<Contract>> job_terms(const ClusterState& state, const JobSpec& spec) {
  const auto contract = state.contracts->find(spec.tenant);
  const bool asks = spec.bandwidth && spec.bandwidth->guaranteed && spec.bandwidth->guaranteed->value() > 0;
  if (contract == state.contracts->end()) {
    if (auto checked = check_between_roles(spec, nullptr); !asks && !checked) return std::unexpected(checked.error());
    if (!asks) return std::nullopt;
    return fail(ErrorKind::impossible, "admission.noContract",
                "tenant " + spec.tenant + " has no contract, so no bandwidth can be guaranteed", "/bandwidth",
                "create one: PUT /v1/contracts/" + spec.tenant);
  }
  Contract terms = contract->second.terms;
  if (spec.bandwidth) {
    const auto& request = *spec.bandwidth;
    if (request.model) {
      terms.promise = *request.model == scheduler::BandwidthModel::pattern ? fabric::TrafficPromise::pattern
                                                                           : fabric::TrafficPromise::hose;
    }
    if (request.guaranteed) {
      if (*request.guaranteed > terms.guaranteed) {
        return fail(ErrorKind::impossible, "admission.overContract",
                    "the contract of " + spec.tenant + " guarantees " + rate_text(terms.guaranteed) + " " +
                        (terms.basis == scheduler::RateBasis::per_port ? "at each port" : "for each job") +
                        ", the job asks for " + rate_text(*request.guaranteed),
                    "/bandwidth/guaranteedGbpsPerPort");
      }
      terms.guaranteed = *request.guaranteed;
    }
    if (request.survive_link_failure) {
      if (*request.survive_link_failure && !terms.survives_link_failure) {
        return fail(ErrorKind::impossible, "admission.overContract",
                    "the contract of " + spec.tenant + " does not cover link failures",
                    "/bandwidth/surviveLinkFailure");
      }
      terms.survives_link_failure = *request.survive_link_failure;
    }
    if (!request.qos_class.empty()) {
      if (!terms.classes.empty() && std::ranges::find(terms.classes, request.qos_class) == terms.classes.end()) {
        return fail(ErrorKind::impossible, "admission.classNotAllowed",
                    spec.tenant + " may not use class '" + request.qos_class + "'", "/bandwidth/qosClass");
      }
      terms.classes = {request.qos_class};
    }
  }
  if (auto checked = check_between_roles(spec, terms.guaranteed.value() > 0 ? &terms : nullptr); !checked) {
    return std::unexpected(checked.error());
  }
  if (terms.guaranteed.value() <= 0) return std::nullopt;
  if (terms.most && *terms.most < terms.guaranteed) terms.most = terms.guaranteed;
  const auto& classes = *state.qos_classes;
  const auto at = std::ranges::find_if(classes, [&](const fabric::QosClass& one) {
    return terms.classes.empty() ? one.bound == fabric::ClassBound::bandwidth : one.name == terms.classes.front();
  });
  if (at == classes.end()) {
    return fail(ErrorKind::impossible, "admission.unknownClass",
                terms.classes.empty() ? std::string("there is no traffic class for bandwidth")
                                      : "there is no class '" + terms.classes.front() + "'",
                "/bandwidth/qosClass", "GET /v1/qos-classes lists them");
  }
  terms.classes = {at->name};
  return terms;
}

std::expected<std::optional<JobGuarantee>, Rejection> admit(const ClusterState& state, const JobSpec& spec,
                                                            const scheduler::Placement& placement,
                                                            GuaranteeBook& book) {
  const auto terms = job_terms(state, spec);
  if (!terms) return std::unexpected(refusal(terms.error()));
  auto tried = grant_within_quota(state, spec, placement, *terms, book, nullptr);
  if (!tried) return std::unexpected(std::move(tried.error()));
  return std::move(tried->guarantee);
}

std::expected<AdmittedPlacement, Rejection> admitted_placement(const ClusterState& state, const JobSpec& spec,
                                                               PlacerCache& placers, std::int64_t now_us,
                                                               bool with_alternatives, scheduler::SearchWork* work) {
  const auto terms = job_terms(state, spec);
  if (!terms) return std::unexpected(as_answer(state, refusal(terms.error())));
  if (auto over = over_contract_gpus(state, spec.tenant, scheduler::rank_count(spec.parallelism))) {
    return std::unexpected(as_answer(state, std::move(*over)));
  }
  PlacementTries tries(state, placers, now_us, with_alternatives);
  auto placed = tries.place_anywhere(spec, *terms, work);
  if (placed) return placed;
  if (placed.error().error.code != "admission.linksFull") {
    return std::unexpected(as_answer(state, std::move(placed.error())));
  }
  Rejection refused = std::move(placed.error());
  if (*terms && fits_on_no_cable(state, spec, **terms)) {
    refused.error.kind = ErrorKind::impossible;
    refused.error.code = "admission.neverFits";
  }
  return std::unexpected(as_answer(state, std::move(refused)));
}

}  // namespace railweave::control
