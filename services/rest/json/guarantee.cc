#include "services/rest/json/guarantee.h"

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
#include "services/rest/json/certificate.h"
#include "services/rest/json/guarantee_value.h"
#include "services/rest/json/link_value.h"
#include "services/rest/json/rate_value.h"

namespace railweave::api {

using control::ClusterState;
using control::GuaranteeBook;
using control::Job;
using control::JobGuarantee;

namespace {

std::string_view to_text(scheduler::Enforcer by) {
  switch (by) {
    case scheduler::Enforcer::switch_arbitration:
      return "switchArbitration";
    case scheduler::Enforcer::path_record_rate:
      return "pathRecordRate";
    case scheduler::Enforcer::function_rate:
      return "functionRate";
    case scheduler::Enforcer::host_shaping:
      return "hostShaping";
  }
  return "";
}

std::string_view to_text(scheduler::Enforcement strength) {
  switch (strength) {
    case scheduler::Enforcement::hardware:
      return "hardware";
    case scheduler::Enforcement::host:
      return "host";
    case scheduler::Enforcement::cooperative:
      return "cooperative";
    case scheduler::Enforcement::planned_only:
      return "planned";
  }
  return "";
}

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
    link = {{"link", scheduler::directed_link_text(state.topology(), load.link)},
            {"name", directed_link_name(state.topology(), load.link)},
            {"jobGbps", gbps_of(load.mbps)},
            {"reservedGbps", gbps_of(reserved)},
            {"limitGbps", gbps_of(limit)},
            {"capacityGbps", gbps_of(ledger.capacity_mbps(load.link))}};
  }
  return link;
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

bool is_ethernet(const ClusterState& state, fabric::PortId port) {
  const auto& t = state.topology();
  return t.peer(port) && t.kind(t.link(port)) == fabric::LinkKind::ethernet;
}

struct LaneGrade {  // of what the contract asks for
  bool in_force = false;
  std::string statement;
};

// Whether the job's own lane is in the tables of all its subnets, where their ports have the tables that are wanted. Of
// subnets: those that the job's ports are in; is_missing: some do not have its class either.
LaneGrade lane_grade(const Job& job, const GuaranteeBook& book, const std::vector<control::SubnetStatusPtr>& subnets,
                     bool is_missing, bool on_ethernet) {
  const JobGuarantee& guarantee = *job.guarantee;
  if (!guarantee.lane) return {false, "It crosses no link, so that it has no lane of its own."};
  const std::string lane = "Lane " + std::to_string(*guarantee.lane) + " of its own";
  const auto held = book.ledger().reservations_of(control::to_string(job.id));
  if (held.empty()) return {false, lane + " is not its own while the guarantee is at risk."};
  if (on_ethernet) {
    return {false,
            lane +
                " is planned only: on Ethernet it holds where every switch has the queues, marks and routes that "
                "Railweave makes for it (railweave switches config), which nothing reads back."};
  }
  if (is_missing) return {false, lane + " is planned only."};
  if (job.earlier_levels != 0) {
    return {false,
            lane + " came after its ranks had started with another service level: it is used once they start again."};
  }
  for (const auto& status : subnets) {
    const auto at = std::ranges::find_if(status->qos->lanes, [&](const control::LaneInTables& one) {
      return one.job == held.front()->job && one.lane == *guarantee.lane && one.order == held.front()->order;
    });
    if (at == status->qos->lanes.end()) {
      return {false, lane + " is not in the tables of subnet " + status->subnet + " yet."};
    }
    if (!status->qos->is_filtered) {
      return {false,
              lane + " is in the tables, but subnet " + status->subnet +
                  " does not filter the service levels of hosts (ingress_filter): others may send with its own."};
    }
    if (!at->other_sender.empty()) {
      return {false,
              lane + " is in the tables, but ranks of " + at->other_sender + " may still send with its service level."};
    }
  }
  return {true,
          lane +
              ": every port on its routes promises it there what is reserved, and switches drop its service level "
              "from ports of other hosts; written and read back."};
}

std::string class_statement(const Job& job, const control::ClassGrade& grade,
                            const std::vector<control::SubnetStatusPtr>& written, bool is_missing) {
  if (job.guarantee->at_risk()) return "Nothing is isolated while the guarantee is at risk.";
  if (job.earlier_levels != 0) {
    return "Its ranks started with another service level than that of its class: it is isolated once they start again.";
  }
  std::string names;
  for (const auto& node : grade.lacks) names += (names.empty() ? "" : ", ") + node;
  if (grade.lacking > grade.lacks.size()) names += ", ...";
  const std::string others = std::to_string(grade.neighbours) + " other " + (grade.neighbours == 1 ? "job" : "jobs");
  const bool filtered =
      !is_missing && std::ranges::all_of(written, [](const auto& status) { return status->qos->is_filtered; });
  if (grade.in_force) {
    return "Agents on its " + std::to_string(grade.hosts) +
           " hosts report that they limit what it sends and receives in its class to its guarantee" +
           (grade.neighbours == 0 ? "" : ", as do those of " + others + " of its class on its links") +
           "; the rest is best effort. It rests on their word" +
           (filtered ? "; switches drop the class from hosts without a job in it."
                     : ", and on no other host sending in the class.");
  }
  return "Isolation inside the class is planned only: " + std::to_string(grade.lacking) +
         (grade.lacking == 1 ? " host has" : " hosts have") +
         " no agent that reports the present budgets as applied: " + names +
         (grade.neighbour.empty() ? "" : " (of " + grade.neighbour + ", which shares links with it in its class)") +
         ".";
}

LaneGrade isolation_grade(const Job& job, const GuaranteeBook& book,
                          const std::vector<control::SubnetStatusPtr>& subnets, bool is_missing, bool on_ethernet,
                          const control::ClassGrade& in_class) {
  switch (job.guarantee->isolation) {
    case scheduler::Isolation::planned:
      return {};
    case scheduler::Isolation::within_class:
      return {in_class.in_force && !job.guarantee->at_risk() && job.earlier_levels == 0,
              class_statement(job, in_class, subnets, is_missing)};
    case scheduler::Isolation::lane:
      return lane_grade(job, book, subnets, is_missing, on_ethernet);
  }
  return {};
}

// Why what the ports of a subnet do is not known; "": it is.
std::string not_written(const ClusterState& state, const control::SubnetStatus& status) {
  const auto wanted = state.mode(status.subnet);
  const auto mode = wanted == control::SubnetMode::direct ? status.mode : wanted;
  if (mode == control::SubnetMode::direct) return {};
  const bool is_opensm = mode == control::SubnetMode::opensm;
  if (is_opensm && status.mode == mode && status.qos && status.qos->by_opensm) return {};
  std::string why =
      "subnet " + status.subnet + " is in " + std::string(to_string(mode)) + " mode: what its ports do is not known";
  if (is_opensm && status.qos && !status.qos->not_by_opensm.empty()) why += "; " + status.qos->not_by_opensm;
  return why;
}

// How the guarantee is enforced: "hardware" where every subnet that the job's ports are in has its class on
// all its ports, written and read back; otherwise "planned". What agents on its hosts report is its isolation.
Out in_force_json(const ClusterState& state, const GuaranteeBook& book, const Job& job,
                  std::span<const fabric::PortId> ports, std::span<const control::SubnetStatusPtr> live,
                  const control::ClassGrade& in_class) {
  std::set<std::string> subnets;
  for (const auto port : ports) {
    if (const auto subnet = state.topology().subnet(port)) subnets.emplace(state.topology().name(subnet));
  }
  std::vector<control::SubnetStatusPtr> written;
  std::uint64_t programmed = 0;
  std::string missing;
  for (const auto& name : subnets) {
    const auto at = std::ranges::find_if(live, [&](const auto& status) { return status->subnet == name; });
    if (at == live.end()) {
      missing = "subnet " + name + " is not live: nothing is written to it";
    } else if (std::string why = not_written(state, **at); !why.empty()) {
      missing = std::move(why);
    } else if (!(*at)->qos || (*at)->qos->classes == 0) {
      missing = "no classes are programmed on subnet " + name;
    } else if ((*at)->qos->ports_pending != 0 || !(*at)->qos->problem.empty()) {
      missing = std::to_string((*at)->qos->ports_pending) + " ports of subnet " + name + " do not have the classes yet";
    } else {
      programmed += (*at)->qos->ports_programmed;
      written.push_back(*at);
      continue;
    }
    break;
  }
  if (subnets.empty()) missing = "it has no ports on the network";
  const bool on_ethernet = std::ranges::any_of(ports, [&](fabric::PortId port) { return is_ethernet(state, port); });
  const LaneGrade grade = isolation_grade(job, book, written, !missing.empty(), on_ethernet, in_class);
  std::string statement = missing;
  if (missing.empty()) {
    statement = "Class " + job.guarantee->qos_class + " has its share on " + std::to_string(programmed) +
                " ports, written and read back.";
    if (!grade.in_force) {
      statement +=
          " No limit at the job's own ports is reported as set: inside the class it holds while every tenant keeps to "
          "its caps.";
    }
  }
  if (!grade.statement.empty()) statement += (missing.empty() ? " " : ". ") + grade.statement;
  const bool by_agents = job.guarantee->isolation == scheduler::Isolation::within_class;
  return {{"level", missing.empty() ? "hardware" : "planned"},
          {"isolation", railweave::to_text(grade.in_force ? job.guarantee->isolation : scheduler::Isolation::planned)},
          {"unreportedNodes", by_agents ? Out(in_class.lacks) : Out::array()},
          {"statement", std::move(statement)}};
}

}  // namespace

Out enforcement_json(const scheduler::SourceCap& cap) {
  Out means = Out::array();
  for (const auto& one : cap.means) {
    means.push_back({{"by", to_text(one.by)}, {"strength", to_text(one.strength)}, {"statement", one.statement}});
  }
  return means;
}

Out guarantee_out(const JobGuarantee& guarantee) {
  return {{"class", guarantee.qos_class},
          {"model", to_text(guarantee.promise)},
          {"guaranteedGbpsPerPort", gbps_of(guarantee.rate)},
          {"maxGbpsPerPort", guarantee.most.value() == 0 ? Out(nullptr) : Out(gbps_of(guarantee.most))},
          {"reservedPermille", guarantee.reserved_permille},
          {"surviveLinkFailure", guarantee.survives_link_failure},
          {"covered", guarantee.covered},
          {"isolation", railweave::to_text(guarantee.isolation)},
          {"lane", guarantee.lane ? Out(*guarantee.lane) : Out(nullptr)},
          {"state", guarantee.at_risk() ? "atRisk" : "holds"},
          {"atRiskSince", guarantee.at_risk() ? Out(time_text(guarantee.at_risk_since_us)) : Out(nullptr)},
          {"atRiskBeforeMs", static_cast<double>(guarantee.at_risk_total_us) / 1000},
          {"reason", guarantee.reason},
          {"links", guarantee.links}};
}

std::string write_guarantee(const ClusterState& state, const GuaranteeBook& book, const Job& job, std::int64_t now_us,
                            std::span<const control::SubnetStatusPtr> live, const control::ClassGrade& in_class) {
  Out value{{"job", control::to_string(job.id)}, {"name", job.spec.name}, {"tenant", job.spec.tenant}};
  value.update(guarantee_out(*job.guarantee));
  value["atRiskTotalMs"] = static_cast<double>(job.guarantee->at_risk_us(now_us)) / 1000;
  value["admittedSeq"] = job.guarantee->admitted_seq;
  const auto ports = control::job_ports(*state.placement_fabric, job.placement.gpu_of_rank);
  value["ports"] = ports.size();
  const auto held = book.ledger().reservations_of(control::to_string(job.id));
  value["linksReserved"] = held.empty() ? 0 : held.front()->loads.size();
  value["tightestLink"] = held.empty() ? Out(nullptr) : tightest_link(state, book, *held.front());
  value["enforcement"] =
      enforcement_json(scheduler::source_cap(fabric::PortId(), job.guarantee->rate, job.guarantee->most));
  value["inForce"] = in_force_json(state, book, job, ports, live, in_class);
  return dump(value);
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
        if (holders.size() < 20) holders.push_back({{"job", job}, {"gbps", gbps_of(mbps)}});
      }
      classes.push_back({{"class", (*state.qos_classes)[c].name},
                         {"reservedGbps", gbps_of(ledger.reserved_mbps(link, c))},
                         {"limitGbps", gbps_of(ledger.limit_mbps(link, c))},
                         {"jobs", jobs.size()},
                         {"holders", std::move(holders)}});
    }
    items.push_back({{"link", scheduler::directed_link_text(state.topology(), link)},
                     {"name", directed_link_name(state.topology(), link)},
                     {"capacityGbps", gbps_of(ledger.capacity_mbps(link))},
                     {"fullest", uses[link].fullest},
                     {"classes", std::move(classes)}});
  }
  return dump(Out{{"items", std::move(items)}, {"links", uses.size()}, {"seq", state.seq}});
}

std::string write_route_proposal(const ClusterState& state, const control::RouteProposal& proposal, bool applied) {
  const auto names = [](const std::vector<control::JobId>& jobs) {
    Out list = Out::array();
    for (const auto job : jobs) list.push_back(control::to_string(job));
    return list;
  };
  const auto& set = *state.link_costs;
  return dump(Out{{"costs", costs_to_json(proposal.costs)},
                  {"holdAgain", names(proposal.hold_again)},
                  {"stillAtRisk", names(proposal.still_at_risk)},
                  {"loseCoverage", proposal.lose_coverage},
                  {"changedEntries", proposal.changed_entries},
                  {"tried", proposal.tried},
                  {"applied", applied},
                  {"inForce",
                   {{"costs", costs_to_json(set.by_link)},
                    {"reason", set.reason},
                    {"actor", set.actor},
                    {"since", set.since_us == 0 ? Out() : Out(time_text(set.since_us))}}},
                  {"seq", state.seq}});
}

std::string write_blocked_links(const std::vector<control::BlockedLink>& links) {
  Out list = Out::array();
  for (const auto& link : links) {
    Out holders = Out::array();
    for (const auto& holder : link.holders) {
      holders.push_back({{"job", holder.job}, {"gbps", gbps_of(holder.mbps)}});
    }
    Out item{{"link", link.link}};
    if (!link.wanted_by.empty()) item["wantedBy"] = link.wanted_by;
    item["wantedGbps"] = gbps_of(link.wanted_mbps);
    item["reservedGbps"] = gbps_of(link.reserved_mbps);
    item["limitGbps"] = gbps_of(link.limit_mbps);
    item["holders"] = std::move(holders);
    list.push_back(std::move(item));
  }
  return dump(list);
}

std::function<std::uint16_t(fabric::HostId)> pkey_indices(const control::ClusterStatePtr& state, const Job& job) {
  const auto contract = state->contracts->find(job.spec.tenant);
  if (contract == state->contracts->end() || !job.holds_gpus()) return {};
  return [state, pkey = contract->second.pkey](fabric::HostId host) -> std::uint16_t {
    const auto& t = state->topology();
    for (const auto hca : t.hcas(host)) {
      for (const auto port : t.ports(hca)) {
        const auto peer = t.peer(port);
        if (!peer || !t.is_switch_port(peer) || t.kind(t.link(port)) != fabric::LinkKind::infiniband) continue;
        if (state->mode(t.name(t.subnet(t.switch_of(peer)))) != control::SubnetMode::direct) return 0;
      }
    }
    return state->host_keys[host.index()].index_of(pkey);
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
