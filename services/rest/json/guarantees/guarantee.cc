#include "services/rest/json/guarantees/guarantee.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "fabric/qos/ethernet_plan.h"
#include "scheduler/admission/bandwidth_admission.h"
#include "services/control/codec/fabric_event_json.h"
#include "services/control/codec/guarantee_json.h"
#include "services/control/guarantees/port_rules.h"
#include "services/control/state/service_levels.h"
#include "services/control/views/job_ports.h"
#include "services/control/views/role_receivers.h"
#include "services/json/contract_object.h"
#include "services/rest/json/guarantees/certificate.h"
#include "services/rest/json/guarantees/guarantee_value.h"
#include "services/rest/json/link_value.h"
#include "services/rest/json/rate_value.h"
#include "services/rest/json/tables_value.h"

namespace railweave::api {

using control::ClusterState;
using control::GuaranteeBook;
using control::Job;
using control::JobGuarantee;

namespace {

std::string directed_link_name(const fabric::Topology& topology, fabric::DirectedLink link) {
  const fabric::PortId out = fabric::out_port_of(topology, link);
  return port_name(topology, out) + "->" + port_name(topology, topology.peer(out));
}

Out tightest_link(const ClusterState& state, const GuaranteeBook& book, const fabric::Reservation& reservation) {
  const auto& ledger = book.ledger();
  double tightest = -1;
  Out link = nullptr;
  for (const auto& load : reservation.loads) {
    const auto limit = ledger.limit_mbps(load.link, reservation.qos_class);
    const auto reserved = ledger.reserved_mbps(load.link, reservation.qos_class);
    const double used = limit == 0 ? 2 : static_cast<double>(reserved) / static_cast<double>(limit);
    if (used <= tightest) continue;
    tightest = used;
    link = object<"Guarantee.tightestLink">(with<"link">(scheduler::directed_link_text(state.topology(), load.link)),
                                            with<"name">(directed_link_name(state.topology(), load.link)),
                                            with<"jobGbps">(gbps_of(load.mbps)),
                                            with<"reservedGbps">(gbps_of(reserved)), with<"limitGbps">(gbps_of(limit)),
                                            with<"capacityGbps">(gbps_of(ledger.capacity_mbps(load.link))));
  }
  return link;
}

// The jobs of other roles to which the guarantee reaches.
Out receivers_json(const ClusterState& state, const GuaranteeBook& book, const Job& job) {
  Out receivers = Out::array();
  for (const auto& one : control::role_receivers(*state.placement_fabric, book.routes()->scope(), state.jobs, job.spec,
                                                 job.placement.gpu_of_rank)) {
    receivers.push_back(object<"Guarantee.receivers">(with<"job">(control::to_string(one.job)), with<"role">(one.role),
                                                      with<"ports">(one.ports)));
  }
  return receivers;
}

// Whether every port of the port's subnet gets the tables that Railweave plans for it.
bool is_written(const ClusterState& state, fabric::PortId port) {
  const auto subnet = state.topology().subnet(port);
  if (!subnet) return false;
  const auto name = state.topology().name(subnet);
  const auto mode = state.mode(name);
  const auto limits = state.port_limits->find(name);
  return mode == control::SubnetMode::direct ||
         (mode == control::SubnetMode::opensm && limits != state.port_limits->end() && limits->second.by_opensm);
}

}  // namespace

bool is_ethernet(const ClusterState& state, fabric::PortId port) {
  const auto& t = state.topology();
  return t.peer(port) && t.kind(t.link(port)) == fabric::LinkKind::ethernet;
}

Out enforcement_json(const scheduler::SourceCap& cap, bool planned) {
  Out means = Out::array();
  for (const auto& one : cap.means) {
    const auto strength = planned ? scheduler::Enforcement::planned_only : one.strength;
    means.push_back(object<"Means">(with<"by">(one.by), with<"strength">(strength), with<"statement">(one.statement)));
  }
  return means;
}

Out guarantee_out(const JobGuarantee& guarantee, const scheduler::JobSpec& spec, bool in_force,
                  const MessageReader& reader) {
  const std::string_view state = guarantee.at_risk() ? "atRisk" : in_force ? "holds" : "planned";
  return object<"GuaranteeFields">(
      with<"class">(guarantee.qos_class), with<"model">(guarantee.promise),
      with<"guaranteedGbpsPerPort">(gbps_of(guarantee.rate)),
      with<"betweenRolesGbpsPerPort">(gbps_of(control::between_roles_mbps(spec))),
      with<"maxGbpsPerPort">(guarantee.most.value() == 0 ? Out(nullptr) : Out(gbps_of(guarantee.most))),
      with<"reservedPermille">(guarantee.reserved_permille),
      with<"surviveLinkFailure">(guarantee.survives_link_failure), with<"covered">(guarantee.covered),
      with<"isolation">(guarantee.isolation), with<"lane">(guarantee.lane ? Out(*guarantee.lane) : Out(nullptr)),
      with<"state">(state),
      with<"atRiskSince">(guarantee.at_risk() ? Out(time_text(guarantee.at_risk_since_us)) : Out(nullptr)),
      with<"atRiskBeforeMs">(static_cast<double>(guarantee.at_risk_total_us) / 1000),
      with<"reason">(guarantee.reason.text(reader)), with<"links">(guarantee.links));
}

std::string write_guarantee(const ClusterState& state, const GuaranteeBook& book, const Job& job, std::int64_t now_us,
                            std::span<const control::SubnetStatusPtr> live, std::span<const control::TablesUsed> tables,
                            const control::ClassGrade& in_class) {
  const auto ports = control::job_ports(*state.placement_fabric, job.placement.gpu_of_rank);
  const bool in_force = not_in_force(state, job, ports, live, tables).empty();
  const auto held = book.ledger().reservations_of(control::to_string(job.id));
  const auto cap = scheduler::source_cap(fabric::PortId(), job.guarantee->rate, job.guarantee->most);
  return dump(object<"Guarantee">(
      with<"job">(control::to_string(job.id)), with<"name">(job.spec.name), with<"tenant">(job.spec.tenant),
      part<"GuaranteeFields">(guarantee_out(*job.guarantee, job.spec, in_force, MessageReader::all())),
      with<"receivers">(receivers_json(state, book, job)),
      with<"atRiskTotalMs">(static_cast<double>(job.guarantee->at_risk_us(now_us)) / 1000),
      with<"admittedSeq">(job.guarantee->admitted_seq), with<"ports">(ports.size()),
      with<"linksReserved">(held.empty() ? 0 : held.front()->loads.size()),
      with<"tightestLink">(held.empty() ? Out(nullptr) : tightest_link(state, book, *held.front())),
      with<"enforcement">(enforcement_json(cap, !in_force)),
      with<"inForce">(in_force_json(state, book, job, ports, live, tables, in_class))));
}

std::string write_guaranteed_links(const ClusterState& state, const GuaranteeBook& book, std::uint64_t top) {
  const auto& ledger = book.ledger();
  struct Use {
    double fullest = 0;
    std::map<std::uint8_t, std::vector<std::pair<std::string, std::int64_t>>> jobs;  // by class
  };
  std::map<fabric::DirectedLink, Use> uses;
  for (const auto& reservation : ledger.reservations()) {
    for (const auto& load : reservation->loads) {
      uses[load.link].jobs[reservation->qos_class].emplace_back(reservation->job, load.mbps);
    }
  }
  std::vector<std::pair<double, fabric::DirectedLink>> order;
  for (auto& [link, use] : uses) {
    for (const auto& [c, jobs] : use.jobs) {
      const auto limit = static_cast<double>(ledger.limit_mbps(link, c));
      const auto reserved = static_cast<double>(ledger.reserved_mbps(link, c));
      use.fullest = std::max(use.fullest, limit == 0 ? 1 : reserved / limit);
    }
    order.emplace_back(-use.fullest, link);
  }
  std::ranges::sort(order);
  Out items = Out::array();
  for (std::size_t i = 0; i < order.size() && i < top; ++i) {
    const auto link = order[i].second;
    Out classes = Out::array();
    for (auto& [c, jobs] : uses[link].jobs) {
      std::ranges::stable_sort(jobs, [](const auto& a, const auto& b) { return a.second > b.second; });
      Out holders = Out::array();
      for (const auto& [job, mbps] : jobs) {
        if (holders.size() == 20) break;
        holders.push_back(object<"LinkHolder">(with<"job">(job), with<"gbps">(gbps_of(mbps))));
      }
      classes.push_back(object<"GuaranteedLinks.items.classes">(
          with<"class">((*state.qos_classes)[c].name), with<"reservedGbps">(gbps_of(ledger.reserved_mbps(link, c))),
          with<"limitGbps">(gbps_of(ledger.limit_mbps(link, c))), with<"jobs">(jobs.size()),
          with<"holders">(std::move(holders))));
    }
    items.push_back(object<"GuaranteedLinks.items">(with<"link">(scheduler::directed_link_text(state.topology(), link)),
                                                    with<"name">(directed_link_name(state.topology(), link)),
                                                    with<"capacityGbps">(gbps_of(ledger.capacity_mbps(link))),
                                                    with<"fullest">(uses[link].fullest),
                                                    with<"classes">(std::move(classes))));
  }
  return dump(
      object<"GuaranteedLinks">(with<"items">(std::move(items)), with<"links">(uses.size()), with<"seq">(state.seq)));
}

std::string write_route_proposal(const ClusterState& state, const control::RouteProposal& proposal, bool applied) {
  const auto names = [](const std::vector<control::JobId>& jobs) {
    Out list = Out::array();
    for (const auto job : jobs) list.push_back(control::to_string(job));
    return list;
  };
  const auto& set = *state.link_costs;
  return dump(object<"RouteProposal">(
      with<"costs">(costs_to_json(proposal.costs)), with<"holdAgain">(names(proposal.hold_again)),
      with<"stillAtRisk">(names(proposal.still_at_risk)), with<"loseCoverage">(proposal.lose_coverage),
      with<"changedEntries">(proposal.changed_entries), with<"tried">(proposal.tried), with<"applied">(applied),
      with<"inForce">(object<"RouteProposal.inForce">(
          with<"costs">(costs_to_json(set.by_link)), with<"reason">(set.reason), with<"actor">(set.actor),
          with<"since">(set.since_us == 0 ? Out() : Out(time_text(set.since_us))))),
      with<"seq">(state.seq)));
}

std::string write_blocked_links(const std::vector<control::BlockedLink>& links) {
  Out list = Out::array();
  for (const auto& link : links) {
    Out holders = Out::array();
    for (const auto& holder : link.holders) {
      holders.push_back(object<"LinkHolder">(with<"job">(holder.job), with<"gbps">(gbps_of(holder.mbps))));
    }
    list.push_back(object<"BlockedLink">(
        with<"link">(link.link), maybe<"wantedBy">(!link.wanted_by.empty(), link.wanted_by),
        with<"wantedGbps">(gbps_of(link.wanted_mbps)), with<"reservedGbps">(gbps_of(link.reserved_mbps)),
        with<"limitGbps">(gbps_of(link.limit_mbps)), with<"holders">(std::move(holders))));
  }
  return dump(list);
}

std::function<std::uint16_t(fabric::HostId)> pkey_indices(const control::ClusterStatePtr& state, const Job& job) {
  const auto contract = state->contracts->find(job.spec.tenant);
  if (contract == state->contracts->end() || !job.holds_gpus()) return {};
  return [state, pkey = contract->second.pkey](fabric::HostId host) -> std::uint16_t {
    const auto& t = state->topology();
    bool has_keys = false;  // adapters on Ethernet have the default one alone
    for (const auto hca : t.hcas(host)) {
      for (const auto port : t.ports(hca)) {
        const auto peer = t.peer(port);
        if (!peer || !t.is_switch_port(peer) || t.kind(t.link(port)) != fabric::LinkKind::infiniband) continue;
        if (state->mode(t.name(t.subnet(t.switch_of(peer)))) != control::SubnetMode::direct) return 0;
        has_keys = true;
      }
    }
    return has_keys ? state->host_keys[host.index()].index_of(pkey) : std::uint16_t{0};
  };
}

std::optional<std::uint8_t> job_dscp(const ClusterState& state, const JobGuarantee& guarantee,
                                     std::span<const fabric::GpuId> gpus) {
  const auto& classes = *state.qos_classes;
  const auto at = std::ranges::find(classes, guarantee.qos_class, &fabric::QosClass::name);
  if (at == classes.end()) return std::nullopt;
  if (!guarantee.lane || guarantee.at_risk() || *guarantee.lane >= fabric::ethernet_lanes(classes)) return at->dscp;
  const auto ports = control::job_ports(*state.placement_fabric, gpus);
  const bool owns = std::ranges::any_of(ports, [&](fabric::PortId port) { return is_ethernet(state, port); });
  return owns ? fabric::lane_dscp(classes, *guarantee.lane) : at->dscp;
}

std::optional<ClassMarks> class_marks(const ClusterState& state, const JobGuarantee& guarantee,
                                      std::span<const fabric::GpuId> gpus, const fabric::Lanes& lanes) {
  const auto& classes = *state.qos_classes;
  const auto at = std::ranges::find(classes, guarantee.qos_class, &fabric::QosClass::name);
  if (at == classes.end()) return std::nullopt;
  unsigned levels = 1;  // as plan_infiniband() counts them
  for (const auto& plane : lanes.planes) {
    levels = std::max<unsigned>(levels, std::max(plane.levels, plane.arc_class.empty() ? plane.lanes : plane.levels));
  }
  const auto of_class = control::service_level(classes, guarantee, false, levels);
  if (!of_class) return std::nullopt;  // the plan is refused
  std::optional<unsigned> own;
  if (guarantee.lane && !guarantee.at_risk()) {
    const auto ports = control::job_ports(*state.placement_fabric, gpus);
    if (std::ranges::all_of(ports, [&](fabric::PortId port) { return is_written(state, port); })) {
      own = control::service_level(classes, guarantee, true, levels);
    } else if (std::ranges::all_of(ports, [&](fabric::PortId port) { return is_ethernet(state, port); }) &&
               *guarantee.lane < fabric::ethernet_lanes(classes)) {
      own = fabric::lane_traffic_class(classes, *guarantee.lane);  // the priority that switches pause it by
    }
  }
  const unsigned level = own.value_or(*of_class);
  return ClassMarks{level, static_cast<unsigned>(job_dscp(state, guarantee, gpus).value_or(at->dscp)) << 2U};
}

std::string write_guarantee_certificate(const ClusterState& state, const control::FabricRoutes& routes,
                                        std::uint64_t entries_digest, const fabric::Ledger& ledger) {
  const auto rules = control::port_rules(state);
  const auto plan = fabric::plan_infiniband({.classes = state.qos_classes.get(),
                                             .view = routes.input.view,
                                             .scope = routes.input.scope,
                                             .lanes = &routes.routing.lanes,
                                             .ledger = &ledger,
                                             .owned_lanes = true,
                                             .data_lanes = rules.data_lanes,
                                             .arbitration = rules.arbitration});
  return write_certificate({.seq = state.seq,
                            .view = &routes.input.view,
                            .tables = &routes.routing.tables,
                            .ledger = &ledger,
                            .classes = state.qos_classes.get(),
                            .plan = plan ? &*plan : nullptr,
                            .refused = plan ? std::string_view() : std::string_view(plan.error().message),
                            .arbitration = rules.arbitration,
                            .limits_known = rules.known,
                            .entries_digest = entries_digest});
}

}  // namespace railweave::api
