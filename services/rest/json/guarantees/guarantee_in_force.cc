// What of a guarantee was seen in force, and what is planned.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "services/json/contract_object.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "services/rest/json/guarantees/guarantee_value.h"
#include "services/rest/json/tables_value.h"

namespace railweave::api {

using control::ClusterState;
using control::GuaranteeBook;
using control::Job;
using control::JobGuarantee;

namespace {

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
  const std::string lane = fmt::format("Lane {} of its own", *guarantee.lane);
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
      return {false, lane + " is in the tables, but packets of " + at->other_sender +
                         " may get onto it: they have its service level."};
    }
  }
  return {true,
          lane +
              ": every port on its routes promises it there what is reserved, and switches drop its service level "
              "from ports of other hosts and from links that it is not on; written and read back."};
}

std::string class_statement(const Job& job, const control::ClassGrade& grade,
                            const std::vector<control::SubnetStatusPtr>& written, bool is_missing) {
  if (job.guarantee->at_risk()) return "Nothing is isolated while the guarantee is at risk.";
  if (job.earlier_levels != 0) {
    return "Its ranks started with another service level than that of its class: it is isolated once they start again.";
  }
  std::string names = fmt::format("{}", fmt::join(grade.lacks, ", "));
  if (grade.lacking > grade.lacks.size()) names += ", ...";
  const std::string others = fmt::format("{} other {}", grade.neighbours, grade.neighbours == 1 ? "job" : "jobs");
  const bool filtered =
      !is_missing && std::ranges::all_of(written, [](const auto& status) { return status->qos->is_filtered; });
  if (grade.in_force) {
    return fmt::format(
        "Agents on its {} hosts report that they limit what it sends and receives in its class to its guarantee{}; the "
        "rest is best effort. It rests on their word{}",
        grade.hosts, grade.neighbours == 0 ? "" : ", as do those of " + others + " of its class on its links",
        filtered ? "; switches drop the class from hosts without a job in it."
                 : ", and on that of the agents of all other hosts, which keep them out of the class.");
  }
  if (grade.strangers == grade.lacking) {
    return fmt::format(
        "Isolation inside the class is planned only: switches do not drop the class from hosts without a job in it, "
        "and {}{} no agent that reports to keep out of it: {}.",
        grade.lacking, grade.lacking == 1 ? " such host has" : " such hosts have", names);
  }
  return fmt::format(
      "Isolation inside the class is planned only: {}{} no agent that reports the present budgets as applied: {}{}.",
      grade.lacking, grade.lacking == 1 ? " host has" : " hosts have", names,
      grade.neighbour.empty() ? "" : " (of " + grade.neighbour + ", which shares links with it in its class)");
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

// "service level 6", "service levels 2 and 6"
std::string earlier_levels_text(const Job& job) {
  std::string levels;
  for (unsigned level = 0; job.earlier_levels >> level != 0; ++level) {
    if ((job.earlier_levels >> level & 1) != 0) levels += fmt::format("{}{}", levels.empty() ? "" : ", ", level);
  }
  return (levels.find(',') == std::string::npos ? "service level " : "service levels ") + levels;
}

// Why what the ports of a subnet do is not known; "": it is.
std::string not_written(const ClusterState& state, const control::SubnetStatus& status) {
  const auto wanted = state.mode(status.subnet);
  const auto mode = wanted == control::SubnetMode::direct ? status.mode : wanted;
  if (mode == control::SubnetMode::direct) return {};
  const bool is_opensm = mode == control::SubnetMode::opensm;
  if (is_opensm && status.mode == mode && status.qos && status.qos->by_opensm) return {};
  std::string why =
      fmt::format("subnet {} is in {} mode: what its ports do is not known", status.subnet, to_string(mode));
  if (is_opensm && status.qos && !status.qos->not_by_opensm.empty()) why += "; " + status.qos->not_by_opensm;
  return why;
}

// The names of the subnets that these ports are in.
std::set<std::string> subnet_names(const ClusterState& state, std::span<const fabric::PortId> ports) {
  std::set<std::string> subnets;
  for (const auto port : ports) {
    if (const auto subnet = state.topology().subnet(port)) subnets.emplace(state.topology().name(subnet));
  }
  return subnets;
}

// Why it is not known that its switches have the routes that promises were computed on; "": it is.
std::string routes_not_known(const std::string& subnet, std::span<const control::TablesUsed> tables) {
  const auto used = std::ranges::find(tables, subnet, &control::TablesUsed::subnet);
  if (used == tables.end() || !used->is_live) return "subnet " + subnet + ": nothing was read from its switches";
  if (used->are_known()) return {};
  return "subnet " + subnet + ": which tables are in force is not known: " + used->reason;
}

// The same of one subnet's ports and routes. status: null where it is not live.
std::string subnet_not_in_force(const ClusterState& state, const std::string& subnet,
                                const control::SubnetStatus* status, std::span<const control::TablesUsed> tables) {
  if (status == nullptr) return "subnet " + subnet + " is not live: nothing is written to it";
  if (std::string why = not_written(state, *status); !why.empty()) return why;
  if (!status->qos || status->qos->classes == 0) return "no classes are programmed on subnet " + subnet;
  if (status->qos->ports_changed != 0) {
    return fmt::format("another program has changed the tables of {} ports of subnet {}", status->qos->ports_changed,
                       subnet);
  }
  if (status->qos->ports_pending != 0 || !status->qos->problem.empty()) {
    return fmt::format("{} ports of subnet {} do not have the classes yet", status->qos->ports_pending, subnet);
  }
  return routes_not_known(subnet, tables);
}

}  // namespace

// How the guarantee is enforced: "hardware" where every subnet that the job's ports are in has its class on
// all its ports, written and read back, and routes that were read; otherwise "planned". What agents on its hosts report is
// its isolation.
Out in_force_json(const ClusterState& state, const GuaranteeBook& book, const Job& job,
                  std::span<const fabric::PortId> ports, std::span<const control::SubnetStatusPtr> live,
                  std::span<const control::TablesUsed> tables, const control::ClassGrade& in_class) {
  std::vector<control::SubnetStatusPtr> written;
  std::uint64_t programmed = 0;
  for (const auto& name : subnet_names(state, ports)) {
    const auto at = std::ranges::find_if(live, [&](const auto& status) { return status->subnet == name; });
    if (at == live.end() || !subnet_not_in_force(state, name, at->get(), tables).empty()) continue;
    programmed += (*at)->qos->ports_programmed;
    written.push_back(*at);
  }
  const std::string missing = api::not_in_force(state, job, ports, live, tables);
  const bool on_ethernet = std::ranges::any_of(ports, [&](fabric::PortId port) { return is_ethernet(state, port); });
  const LaneGrade grade = isolation_grade(job, book, written, !missing.empty(), on_ethernet, in_class);
  std::string statement = missing;
  if (missing.empty()) {
    statement =
        fmt::format("Class {} has its share on {} ports, written and read back.", job.guarantee->qos_class, programmed);
    if (!grade.in_force) {
      statement +=
          " No limit at the job's own ports is reported as set: inside the class it holds while every tenant keeps to "
          "its caps.";
    }
  }
  if (!grade.statement.empty()) statement += (missing.empty() ? " " : ". ") + grade.statement;
  const bool by_agents = job.guarantee->isolation == scheduler::Isolation::within_class;
  return object<"Guarantee.inForce">(
      with<"level">(missing.empty() ? "hardware" : "planned"),
      with<"isolation">(grade.in_force ? job.guarantee->isolation : scheduler::Isolation::planned),
      with<"unreportedNodes">(by_agents ? Out(in_class.lacks) : Out::array()), with<"statement">(std::move(statement)),
      with<"tables">(tables_json(tables)));
}

std::string not_in_force(const ClusterState& state, const Job& job, std::span<const fabric::PortId> ports,
                         std::span<const control::SubnetStatusPtr> live, std::span<const control::TablesUsed> tables) {
  const auto subnets = subnet_names(state, ports);
  if (subnets.empty()) return "it has no ports on the network";
  for (const auto& name : subnets) {
    const auto at = std::ranges::find_if(live, [&](const auto& status) { return status->subnet == name; });
    if (auto why = subnet_not_in_force(state, name, at == live.end() ? nullptr : at->get(), tables); !why.empty())
      return why;
  }
  if (job.earlier_levels == 0) return {};
  return "its ranks were started with " + earlier_levels_text(job) + ", which is not what ports give " +
         job.guarantee->qos_class + " its share by; they have it once they start again";
}

}  // namespace railweave::api
