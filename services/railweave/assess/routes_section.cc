#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/routing/audit/audit.h"
#include "services/railweave/assess/charts.h"
#include "services/railweave/assess/link_loads.h"
#include "services/railweave/assess/sections.h"
#include "services/railweave/terminal/formatted.h"
#include "services/railweave/terminal/shell_text.h"

namespace railweave::cli {
namespace {

constexpr double kWorthSaying = 1.1;  // times the load of Railweave's fullest link

std::string fullest(const fabric::Topology& t, const fabric::AuditReport& audit) {
  const fabric::PortId port = audit.max_link_hosts;
  if (!port) return "-";
  const fabric::PortId peer = t.peer(port);
  return fmt::format("{} port {}{}", t.name(t.switch_of(port)), t.number(port),
                     peer ? " to " + std::string(t.name(t.switch_of(peer))) : "");
}

std::uint64_t dead_pairs(const fabric::AuditReport& audit) { return audit.unreachable_pairs - audit.cut_off_pairs; }

Json audit_json(const fabric::Topology& t, const fabric::AuditReport& audit) {
  return {{"maxLinkLoadHosts", audit.max_link_load_hosts},
          {"maxLink", fullest(t, audit)},
          {"worstShiftLoad", audit.worst_shift_load},
          {"creditLoops", audit.credit_loops},
          {"deadPairs", dead_pairs(audit)},
          {"cutOffPairs", audit.cut_off_pairs},
          {"longestRoute", audit.longest_route}};
}

std::vector<std::string> audit_row(const std::string& name, const fabric::Topology& t,
                                   const fabric::AuditReport& audit) {
  return {name,
          fmt::format("{} pairs, {}", audit.max_link_load_hosts, fullest(t, audit)),
          fmt::format("{} flows", audit.worst_shift_load),
          std::to_string(audit.credit_loops),
          std::to_string(dead_pairs(audit)),
          fmt::format("{} links", audit.longest_route)};
}

std::string how_sure_of_lanes(const SiteView& site) {
  if (!site.levels) return "certain if all routes share one virtual lane; a dump of tables does not tell lanes";
  std::string lanes = site.lane_maps_told
                          ? "certain on the lanes that path records and maps of levels tell"
                          : "certain if each service level has a lane of its own; path records do not tell lanes";
  if (site.levels->missing == 0) return lanes;
  return lanes + fmt::format("; {} without a record {} taken for level 0",
                             plural(site.levels->missing, "path", "paths"), site.levels->missing == 1 ? "is" : "are");
}

std::vector<Advice> held_advice(const SiteView& site, const fabric::AuditReport& held, const fabric::AuditReport& own) {
  std::vector<Advice> advice;
  std::string compare = "route - --against " + shell_quoted(site.held_from);
  if (!site.links_from.empty()) compare += " --against-subnet " + shell_quoted(site.links_from);
  const std::string command = site.commands.lab(compare);
  if (dead_pairs(held) > 0) {
    advice.push_back({"heldDeadPairs",
                      "error",
                      plural(dead_pairs(held), "pair of ports is", "pairs of ports are") +
                          " joined by cables, and not by the tables that switches hold",
                      "certain for the tables of the dump, if it is complete",
                      "jobs whose ranks are on such ports hang or fail at their start",
                      "let the subnet manager sweep again; where that does not help, restart it",
                      command,
                      {}});
  }
  if (held.credit_loops > 0) {
    advice.push_back({"heldCreditLoops",
                      "warning",
                      "the routes that switches hold can wait for each other in a circle",
                      how_sure_of_lanes(site),
                      "under load, all traffic through the circle stops until packets are dropped",
                      "use an engine without credit loops, or one with lanes",
                      site.levels ? site.commands.part(".sections.routes.held") : command,
                      {}});
  }
  const auto own_load = static_cast<double>(own.max_link_load_hosts);
  if (own_load > 0 && static_cast<double>(held.max_link_load_hosts) > kWorthSaying * own_load) {
    advice.push_back(
        {"heldFullestLink",
         "warning",
         fmt::format("the fullest link carries {} pairs of host ports; by Railweave's routes it would be {}",
                     held.max_link_load_hosts, own.max_link_load_hosts),
         "certain for traffic of all to all; what jobs send is less even",
         "where the link is the bottleneck, an all-to-all takes up to " +
             formatted("%.2f", static_cast<double>(held.max_link_load_hosts) / own_load) + " times as long",
         "try Railweave's routes beside those of today; they can be taken back",
         command,
         {fullest(*site.topology, held)}});
  }
  return advice;
}

}  // namespace

ReportSection routes_section(const SiteView& site) {
  ReportSection section{.id = "routes", .title = "Routes"};
  if (!site.own) {
    section.text = "No source tells of cables, so there are no routes to look at.";
    return section;
  }
  const fabric::Topology& t = *site.topology;
  const fabric::AuditReport& own = site.own->report.audit;
  const auto own_loads = link_loads(site.own->view, site.own->routing.tables, site.own->routing.lanes);
  ReportTable table{{"routes", "fullest link", "worst shift", "credit loops", "dead pairs", "longest"}, {}, 0};
  section.data["railweave"] = audit_json(t, own);
  section.data["railweave"]["engine"] = site.own->report.engine;
  if (site.held) {
    const fabric::AuditReport held =
        fabric::audit(site.own->view, site.held->tables, site.held_lanes, fabric::AuditOptions::on_all_cores());
    const auto held_loads = link_loads(site.own->view, site.held->tables, site.held_lanes);
    section.data["held"] = audit_json(t, held);
    section.data["held"]["source"] = site.held_from;
    section.data["held"]["unknownSwitches"] = site.held->unknown_switches;
    section.data["held"]["unknownLids"] = site.held->unknown_lids;
    section.data["held"]["lanes"] = std::max(1U, site.held_lanes.used());
    if (site.levels) {
      section.data["held"]["levels"] = {{"used", site.levels->levels},
                                        {"paths", site.levels->paths},
                                        {"withoutRecord", site.levels->missing},
                                        {"unknownPaths", site.levels->unknown},
                                        {"differOnOneSwitch", site.levels->differ}};
    }
    table.rows.push_back(audit_row("held by the switches", t, held));
    section.pictures.push_back(loads_chart({"Railweave", own_loads}, {"held", held_loads}));
    section.advice = held_advice(site, held, own);
    section.text = "How many pairs of host ports cross each link between switches: the further right, the fuller.";
  } else {
    section.pictures.push_back(loads_chart({"Railweave", own_loads}, {}));
    section.text =
        "No dump of the tables that switches hold was given (opensm.fdbs or opensm-lfts.dump of opensm -D 0x43), so "
        "this "
        "is what Railweave's routes would be, alone.";
  }
  table.rows.push_back(audit_row("Railweave (" + site.own->report.engine + ")", t, own));
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace railweave::cli
