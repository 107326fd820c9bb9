#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/routing/audit/audit.h"
#include "fabric/routing/opensm/lane_walk.h"
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
          plural(audit.worst_shift_load, "flow", "flows"),
          std::to_string(audit.credit_loops),
          std::to_string(dead_pairs(audit)),
          plural(audit.longest_route, "link", "links")};
}

std::string how_sure_of_lanes(const SiteView& site, const fabric::LaneUse* lanes) {
  if (lanes == nullptr) {
    return "certain if all routes share one virtual lane; a dump of tables does not tell lanes";
  }
  std::string sure = site.held->maps
                         ? "certain on the lanes that path records and each switch's map of levels tell"
                         : "certain if each service level has a lane of its own; path records do not tell lanes";
  if (lanes->unmapped > 0) {
    sure += fmt::format("; {} of switches {} no row in the map, and {} levels are taken for lanes",
                        plural(lanes->unmapped, "port", "ports"), lanes->unmapped == 1 ? "has" : "have",
                        lanes->unmapped == 1 ? "its" : "their");
  }
  if (site.held->levels->missing > 0) {
    sure +=
        fmt::format("; {} without a record {} taken for level 0", plural(site.held->levels->missing, "path", "paths"),
                    site.held->levels->missing == 1 ? "is" : "are");
  }
  return sure;
}

std::string port_name(const fabric::Topology& t, fabric::PortId port) {
  return fmt::format("{} port {}", t.name(t.switch_of(port)), t.number(port));
}

std::vector<std::string> port_names(const fabric::Topology& t, const std::vector<fabric::PortId>& ports) {
  std::vector<std::string> names;
  for (const fabric::PortId port : ports) names.push_back(port_name(t, port));
  return names;
}

// What the tables do, with the lanes that their packets take: where levels are told, these decide about circles.
struct Held {
  fabric::AuditReport audit;
  std::optional<fabric::LaneUse> lanes;  // none: no levels are told
};

// The audit of those planes whose tables a dump tells.
fabric::AuditReport audit_of_told(const SiteView& site, const fabric::ForwardingTables& tables,
                                  const fabric::Lanes& lanes) {
  const auto options = fabric::AuditOptions::on_all_cores();
  fabric::PlaneReports known(site.held->told.size());
  for (std::size_t plane = 0; plane < known.size(); ++plane) {
    if (!site.held->told[plane]) known[plane] = std::make_shared<const fabric::PlaneReport>();
  }
  const auto planes = fabric::audit_planes(site.own->view, tables, lanes, options, std::move(known));
  return fabric::combined(site.own->view, tables, planes, options);
}

Held held_of(const SiteView& site) {
  const HeldRoutes& routes = *site.held;
  Held held{audit_of_told(site, routes.tables, {}), {}};
  if (!routes.levels) return held;
  held.lanes = fabric::follow_lanes(site.own->view, routes.tables, routes.told, *routes.levels,
                                    routes.maps ? &*routes.maps : nullptr);
  held.audit.lanes = held.lanes->lanes;
  held.audit.credit_loops = held.lanes->circles;
  held.audit.credit_loop = held.lanes->circle;
  return held;
}

Json levels_json(const SiteView& site, const fabric::LaneUse& lanes) {
  Json levels{{"used", site.held->levels->levels},
              {"paths", site.held->levels->paths},
              {"withoutRecord", site.held->levels->missing},
              {"unknownPaths", site.held->levels->unknown},
              {"differOnOneSwitch", site.held->levels->differ},
              {"discardedPairs", lanes.discarded},
              {"portsWithoutMap", lanes.unmapped}};
  if (site.held->maps) {
    levels["maps"] = {{"rows", site.held->maps->rows()},
                      {"unknownRows", site.held->maps->unknown()},
                      {"different", site.held->maps->kinds()}};
  }
  return levels;
}

// The comparison of tables takes one dump, of all of the fabric.
std::string command_of(const SiteView& site) {
  const HeldRoutes& routes = *site.held;
  if (routes.from.size() > 1 || !routes.whole()) return site.commands.part(".sections.routes.held");
  std::string compare = "route - --against " + shell_quoted(routes.from.front());
  if (!routes.links.front().empty()) compare += " --against-subnet " + shell_quoted(routes.links.front());
  return site.commands.lab(compare);
}

std::vector<Advice> lanes_advice(const SiteView& site, const Held& routes, const std::string& command) {
  const fabric::LaneUse* lanes = routes.lanes ? &*routes.lanes : nullptr;
  std::vector<Advice> advice;
  if (routes.audit.credit_loops > 0) {
    advice.push_back({"heldCreditLoops", "warning", "the routes that switches hold can wait for each other in a circle",
                      how_sure_of_lanes(site, lanes),
                      "under load, all traffic through the circle stops until packets are dropped",
                      "use an engine without credit loops, or one with lanes",
                      lanes != nullptr ? site.commands.part(".sections.routes.held") : command,
                      port_names(*site.topology, routes.audit.credit_loop)});
  }
  if (lanes != nullptr && lanes->discarded > 0) {
    advice.push_back({"heldDiscardedLevels",
                      "error",
                      fmt::format("switches discard the packets of {} by their service level, the first at {}",
                                  plural(lanes->discarded, "pair of ports", "pairs of ports"),
                                  port_name(*site.topology, lanes->discarded_at)),
                      how_sure_of_lanes(site, lanes),
                      "jobs whose ranks are on such ports hang or fail, though tables join them",
                      "give the level a lane on that port (qos_sl2vl of OpenSM), or paths another level",
                      site.commands.part(".sections.routes.held.levels"),
                      {port_name(*site.topology, lanes->discarded_at)}});
  }
  return advice;
}

std::vector<Advice> held_advice(const SiteView& site, const Held& routes, const fabric::AuditReport& own) {
  const fabric::AuditReport& held = routes.audit;
  std::vector<Advice> advice;
  const std::string command = command_of(site);
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
  std::ranges::move(lanes_advice(site, routes, command), std::back_inserter(advice));
  const auto own_load = static_cast<double>(own.max_link_load_hosts);
  if (own_load > 0 && static_cast<double>(held.max_link_load_hosts) > kWorthSaying * own_load) {
    advice.push_back({"heldFullestLink",
                      "warning",
                      fmt::format("the fullest link carries {} paths between host ports, one to each LID; by "
                                  "Railweave's routes it would be {}",
                                  held.max_link_load_hosts, own.max_link_load_hosts),
                      "certain for traffic of all to all; what jobs send is less even",
                      "where the link is the bottleneck, an all-to-all takes up to " +
                          formatted("%.2f", static_cast<double>(held.max_link_load_hosts) / own_load) +
                          " times as long",
                      "try Railweave's routes beside those of today; they can be taken back",
                      command,
                      {fullest(*site.topology, held)}});
  }
  return advice;
}

void add_own(const SiteView& site, const fabric::AuditReport& own, ReportSection& section, ReportTable& table) {
  section.data["railweave"] = audit_json(*site.topology, own);
  section.data["railweave"]["engine"] = site.own->report.engine;
  table.rows.push_back(audit_row("Railweave (" + site.own->report.engine + ")", *site.topology, own));
}

void add_comparison(const SiteView& site, ReportSection& section, ReportTable& table) {
  const HeldRoutes& routes = *site.held;
  const bool whole = routes.whole();
  const Held held = held_of(site);
  const fabric::AuditReport own =
      whole ? site.own->report.audit : audit_of_told(site, site.own->routing.tables, site.own->routing.lanes);
  Json& data = section.data["held"];
  data = audit_json(*site.topology, held.audit);
  data["sources"] = routes.from;
  data["leftOut"] = routes.left_out;
  data["whole"] = whole;
  data["unknownSwitches"] = routes.unknown_switches;
  data["unknownLids"] = routes.unknown_lids;
  data["lanes"] = held.audit.lanes;
  if (held.lanes) data["levels"] = levels_json(site, *held.lanes);
  table.rows.push_back(audit_row("held by the switches", *site.topology, held.audit));
  add_own(site, own, section, table);
  section.pictures.push_back(
      loads_chart({"Railweave", link_loads(site.own->view, site.own->routing.tables, routes.told)},
                  {"held", link_loads(site.own->view, routes.tables, routes.told)}));
  section.advice = held_advice(site, held, own);
  section.text =
      "How many paths between host ports, one to each LID, cross each link between switches: the further right, the "
      "fuller.";
  if (!whole) {
    section.text +=
        " Only a part of the fabric is compared: no dump tells the tables of the others, and nothing is said of them.";
  }
  for (const std::string& file : routes.left_out) section.text += " Not used is " + file + ".";
}

}  // namespace

ReportSection routes_section(const SiteView& site) {
  ReportSection section{.id = "routes", .title = "Routes"};
  if (!site.own) {
    section.text = "No source tells of cables, so there are no routes to look at.";
    return section;
  }
  ReportTable table{{"routes", "fullest link", "worst shift", "credit loops", "dead pairs", "longest"}, {}, 0};
  if (site.held) {
    add_comparison(site, section, table);
  } else {
    const fabric::AuditReport& own = site.own->report.audit;
    const std::vector<bool> all(site.own->routing.tables.scope().planes().size(), true);
    add_own(site, own, section, table);
    section.pictures.push_back(
        loads_chart({"Railweave", link_loads(site.own->view, site.own->routing.tables, all)}, {}));
    section.text =
        "No dump of the tables that switches hold was given (opensm.fdbs or opensm-lfts.dump of opensm -D 0x43), so "
        "this is what Railweave's routes would be, alone.";
    for (const std::string& file : site.lanes_unused) section.text += " Without it " + file + " is of no use.";
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace railweave::cli
