#include "fabric/routing/audit/audit.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/routing/audit/plane_audit.h"
#include "fabric/routing/audit/shifts.h"

namespace railweave::fabric {

namespace {

PortId port_of(const Topology& topology, const Plane& plane, std::uint32_t arc) {
  const SwitchId sw = plane.switches[plane.arcs[plane.arcs[arc].reverse].to];
  return topology.ports(sw)[plane.arcs[arc].port - 1U];
}

void add_circles(const Topology& topology, const Plane& plane, const ChannelGraph& channels, AuditReport& report) {
  const auto circles = channels.circles();
  report.credit_loops += static_cast<unsigned>(circles.lanes.size());
  if (!report.credit_loop.empty()) return;
  for (const std::uint32_t channel : circles.example) {
    report.credit_loop.push_back(port_of(topology, plane, channel / channels.lanes()));
  }
}

void add_loads(const Topology& topology, const Plane& plane, const PlaneTally& tally, AuditReport& report) {
  const auto find_most = [&](const std::vector<std::uint64_t>& load, std::uint64_t& most, PortId& where) {
    for (std::uint32_t a = 0; a < load.size(); ++a) {
      if (load[a] <= most) continue;
      most = load[a];
      where = port_of(topology, plane, a);
    }
  };
  find_most(tally.load, report.max_link_load, report.max_link);
  find_most(tally.host_load, report.max_link_load_hosts, report.max_link_hosts);
}

void add_findings(const FabricView& view, const ForwardingTables& tables, AuditReport& report) {
  const Topology& topology = view.topology();
  const std::uint64_t failed = report.unreachable_pairs - report.cut_off_pairs;
  const auto describe = [&](bool cut_off) {
    std::vector<std::string> objects;
    for (const UnreachedPair& pair : report.unreached) {
      if ((pair.reason <= UnreachedPair::Reason::drained) != cut_off) continue;
      const Destination& to = tables.scope().destination(pair.destination);
      std::string text = fmt::format("{} to {}: {}", topology.name(pair.from),
                                     to.port ? topology.port_text(to.port) : std::string(topology.name(to.home)),
                                     to_string(pair.reason));
      if (pair.at) text += " at " + std::string(topology.name(pair.at));
      objects.push_back(std::move(text));
    }
    return objects;
  };
  if (failed > 0) {
    report.findings.push_back({"unreachable", Severity::error,
                               plural(failed, "pair is", "pairs are") + " not reached although live links connect them",
                               describe(false)});
  }
  if (report.cut_off_pairs > 0) {
    report.findings.push_back({"cutOff", Severity::warning,
                               plural(report.cut_off_pairs, "pair is", "pairs are") + " cut off by failures or drains",
                               describe(true)});
  }
  if (report.unmanaged_pairs > 0) {
    report.findings.push_back(
        {"unmanaged",
         Severity::info,
         plural(report.unmanaged_pairs, "pair", "pairs") +
             " of an end port and a switch have no route: it would go down and up again, which could deadlock",
         {}});
  }
  if (report.credit_loops > 0) {
    std::vector<std::string> ports;
    for (const PortId port : report.credit_loop) ports.push_back(topology.port_text(port));
    report.findings.push_back({"creditLoop", Severity::error,
                               "packets can wait for each other in a circle on " +
                                   plural(report.credit_loops, "lane", "lanes") + ": the fabric can deadlock",
                               std::move(ports)});
  }
  if (report.drained_entries > 0) {
    report.findings.push_back(
        {"drainedInUse",
         Severity::warning,
         plural(report.drained_entries, "entry sends", "entries send") + " traffic through drained links or switches",
         {}});
  }
}

}  // namespace

std::string_view to_string(UnreachedPair::Reason reason) {
  switch (reason) {
    case UnreachedPair::Reason::source_cut_off:
      return "the source's cable is down";
    case UnreachedPair::Reason::destination_cut_off:
      return "the destination's cable is down";
    case UnreachedPair::Reason::disconnected:
      return "no live links connect them";
    case UnreachedPair::Reason::drained:
      return "connected only through drained links or switches";
    case UnreachedPair::Reason::no_entry:
      return "no entry";
    case UnreachedPair::Reason::dead_port:
      return "sent to a dead port";
    case UnreachedPair::Reason::wrong_port:
      return "delivered to another port";
    case UnreachedPair::Reason::loop:
      return "sent in a loop";
  }
  return "";
}

AuditOptions AuditOptions::on_all_cores() {
  AuditOptions options;
  options.parts = part_count();
  options.run = on_threads();
  return options;
}

namespace {

// Every switch drops everything: what a plane without tables does.
PlaneTables tables_without_entries(const Plane& plane) {
  PlaneTables tables(plane.switch_count(), plane.destination_count(), plane.max_ports);
  PlaneTables::Editor edit(tables);
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    for (std::size_t d = 0; d < plane.destination_count(); ++d) edit.set(s, d, kNoPort);
  }
  return tables;
}

PlaneReport audit_plane(const FabricView& view, const ForwardingTables& tables, const PlaneLanes& lanes, PlaneId id,
                        const AuditOptions& options) {
  const Topology& topology = view.topology();
  const Plane& plane = tables.scope().plane(id);
  const auto destinations = static_cast<std::uint32_t>(plane.destination_count());
  PlaneReport made;
  AuditReport& report = made.report;
  if (destinations == 0) return made;
  const bool missing = tables.plane(id).destinations() != destinations;  // nothing was set
  const PlaneTables nothing = missing ? tables_without_entries(plane) : PlaneTables();
  const PlaneTables& plane_tables = missing ? nothing : tables.plane(id);
  if (missing) {
    report.findings.push_back({"noTables",
                               Severity::error,
                               "a part of the fabric has no tables",
                               {std::string(topology.name(plane.switches.front()))}});
  }
  const PortMap ports(plane, view);
  const std::size_t parts = std::clamp<std::size_t>(options.parts, 1, destinations);
  std::vector<std::unique_ptr<PlaneAudit>> audits(parts);
  const auto run_part = [&](std::size_t part) {
    audits[part] = std::make_unique<PlaneAudit>(plane, ports, plane_tables, lanes, options.max_examples);
    audits[part]->run(static_cast<std::uint32_t>(destinations * part / parts),
                      static_cast<std::uint32_t>(destinations * (part + 1) / parts));
  };
  if (options.run && parts > 1) {
    options.run(parts, run_part);
  } else {
    for (std::size_t part = 0; part < parts; ++part) run_part(part);
  }
  PlaneAudit& whole = *audits.front();
  for (std::size_t part = 1; part < parts; ++part) whole.add(*audits[part]);

  const PlaneTally& tally = whole.tally();
  report.pairs = tally.pairs;
  report.unreachable_pairs = tally.unreachable;
  report.cut_off_pairs = tally.cut_off;
  report.unmanaged_pairs = tally.unmanaged;
  report.looping_pairs = tally.looping;
  report.nonminimal_pairs = tally.nonminimal;
  report.drained_entries = tally.drained_entries;
  report.longest_route = tally.longest;
  report.lanes = lanes.lanes;
  report.unreached = tally.unreached;
  add_circles(topology, plane, whole.channels(), report);
  add_loads(topology, plane, tally, report);
  made.shift_loads = shift_loads(plane, ports, plane_tables, sample_shifts(plane, options.shift_samples));
  return made;
}

}  // namespace

PlaneReports audit_planes(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes,
                          const AuditOptions& options, PlaneReports known) {
  static const PlaneLanes one_lane;
  known.resize(tables.scope().planes().size());
  for (const PlaneId id : tables.scope().planes()) {
    if (known[id.index()]) continue;
    const PlaneLanes& plane_lanes = id.index() < lanes.planes.size() ? lanes.planes[id.index()] : one_lane;
    known[id.index()] = std::make_shared<const PlaneReport>(audit_plane(view, tables, plane_lanes, id, options));
  }
  return known;
}

AuditReport combined(const FabricView& view, const ForwardingTables& tables, const PlaneReports& planes,
                     const AuditOptions& options) {
  AuditReport report;
  std::uint64_t shift_sum = 0, shift_count = 0;
  for (const auto& plane : planes) {
    const AuditReport& one = plane->report;
    report.pairs += one.pairs;
    report.unreachable_pairs += one.unreachable_pairs;
    report.cut_off_pairs += one.cut_off_pairs;
    report.unmanaged_pairs += one.unmanaged_pairs;
    report.looping_pairs += one.looping_pairs;
    report.nonminimal_pairs += one.nonminimal_pairs;
    report.drained_entries += one.drained_entries;
    report.longest_route = std::max(report.longest_route, one.longest_route);
    report.lanes = std::max(report.lanes, one.lanes);
    for (const UnreachedPair& pair : one.unreached) {
      if (report.unreached.size() < options.max_examples) report.unreached.push_back(pair);
    }
    report.credit_loops += one.credit_loops;
    if (report.credit_loop.empty()) report.credit_loop = one.credit_loop;
    if (one.max_link_load > report.max_link_load) {
      report.max_link_load = one.max_link_load;
      report.max_link = one.max_link;
    }
    if (one.max_link_load_hosts > report.max_link_load_hosts) {
      report.max_link_load_hosts = one.max_link_load_hosts;
      report.max_link_hosts = one.max_link_hosts;
    }
    for (const std::uint64_t load : plane->shift_loads) {
      report.worst_shift_load = std::max(report.worst_shift_load, load);
      shift_sum += load;
      ++shift_count;
    }
    for (const Finding& finding : one.findings) report.findings.push_back(finding);
  }
  if (shift_count > 0) report.mean_shift_load = static_cast<double>(shift_sum) / static_cast<double>(shift_count);
  add_findings(view, tables, report);
  return report;
}

AuditReport audit(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes,
                  const AuditOptions& options) {
  return combined(view, tables, audit_planes(view, tables, lanes, options), options);
}

PlaneReports unchanged_planes(const PlaneReports& before, const AuditedTables& was, const AuditedTables& is) {
  const RoutingScope& scope = is.tables.scope();
  const Topology& topology = is.view.topology();
  PlaneReports kept = before;
  kept.resize(scope.planes().size());
  const auto forget = [&](SwitchId sw) {
    if (sw && scope.plane_of(sw)) kept[scope.plane_of(sw).index()] = nullptr;
  };
  is.view.for_each_touched_link(was.view, [&](LinkId link) {
    if (is.view.state(link) == was.view.state(link) && is.view.drained(link) == was.view.drained(link)) return;
    for (const PortId end : {topology.a(link), topology.b(link)}) {
      if (topology.is_switch_port(end)) forget(topology.switch_of(end));
    }
  });
  is.view.for_each_touched_switch(was.view, [&](SwitchId sw) {
    if (is.view.drained(sw) != was.view.drained(sw)) forget(sw);
  });
  for (const PlaneId id : scope.planes()) {
    const std::size_t i = id.index();
    const bool same_lanes = i < was.lanes.planes.size() && i < is.lanes.planes.size()
                                ? was.lanes.planes[i] == is.lanes.planes[i]
                                : i >= was.lanes.planes.size() && i >= is.lanes.planes.size();
    if (!same_lanes || !(was.tables.plane(id) == is.tables.plane(id))) kept[i] = nullptr;
  }
  return kept;
}

}  // namespace railweave::fabric
