#include "fabric/routing/audit/audit.h"

#include <algorithm>
#include <memory>
#include <string>

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

void add_loads(const Topology& topology, const Plane& plane, const PlaneAudit& looked, AuditReport& report) {
  const auto take = [&](const std::vector<std::uint64_t>& load, std::uint64_t& most, PortId& where) {
    for (std::uint32_t a = 0; a < load.size(); ++a) {
      if (load[a] <= most) continue;
      most = load[a];
      where = port_of(topology, plane, a);
    }
  };
  take(looked.load, report.max_link_load, report.max_link);
  take(looked.host_load, report.max_link_load_hosts, report.max_link_hosts);
}

std::string plural(std::uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

void add_findings(const FabricView& view, const ForwardingTables& tables, AuditReport& report) {
  const Topology& topology = view.topology();
  const std::uint64_t failed = report.unreachable_pairs - report.cut_off_pairs;
  const auto describe = [&](bool cut_off) {
    std::vector<std::string> objects;
    for (const UnreachedPair& pair : report.unreached) {
      if ((pair.reason <= UnreachedPair::Reason::drained) != cut_off) continue;
      const Destination& to = tables.scope().destination(pair.destination);
      std::string text = std::string(topology.name(pair.from)) + " to " +
                         (to.port ? topology.port_text(to.port) : std::string(topology.name(to.home))) + ": " +
                         std::string(to_string(pair.reason));
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
             " of an end port and a switch have no route: it would lead down and up again, which could deadlock",
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
         plural(report.drained_entries, "entry sends", "entries send") + " traffic through what is drained",
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
      return "connected only through what is drained";
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

AuditReport audit(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes,
                  const AuditOptions& options) {
  const RoutingScope& scope = tables.scope();
  const Topology& topology = view.topology();
  static const PlaneLanes one_lane;
  AuditReport report;
  std::uint64_t shift_sum = 0, shift_count = 0;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const auto destinations = static_cast<std::uint32_t>(plane.destination_count());
    const PlaneTables& plane_tables = tables.plane(id);
    if (destinations == 0) continue;
    if (plane_tables.destinations() != destinations) {  // nothing was set
      report.findings.push_back({"noTables",
                                 Severity::error,
                                 "a part of the fabric has no tables",
                                 {std::string(topology.name(plane.switches.front()))}});
    }
    const PlaneLanes& plane_lanes = id.index() < lanes.planes.size() ? lanes.planes[id.index()] : one_lane;
    const PortMap ports(plane, view);
    const std::size_t parts = std::clamp<std::size_t>(options.parts, 1, destinations);
    std::vector<std::unique_ptr<PlaneAudit>> looked(parts);
    const auto look = [&](std::size_t part) {
      looked[part] = std::make_unique<PlaneAudit>(plane, ports, plane_tables, plane_lanes, options.max_examples);
      looked[part]->look(static_cast<std::uint32_t>(destinations * part / parts),
                         static_cast<std::uint32_t>(destinations * (part + 1) / parts));
    };
    if (options.run && parts > 1) {
      options.run(parts, look);
    } else {
      for (std::size_t part = 0; part < parts; ++part) look(part);
    }
    PlaneAudit& whole = *looked.front();
    for (std::size_t part = 1; part < parts; ++part) whole.add(*looked[part]);

    report.pairs += whole.pairs;
    report.unreachable_pairs += whole.unreachable;
    report.cut_off_pairs += whole.cut_off;
    report.unmanaged_pairs += whole.unmanaged;
    report.looping_pairs += whole.looping;
    report.nonminimal_pairs += whole.nonminimal;
    report.drained_entries += whole.drained_entries;
    report.longest_route = std::max(report.longest_route, whole.longest);
    report.lanes = std::max<unsigned>(report.lanes, plane_lanes.lanes);
    for (const UnreachedPair& pair : whole.unreached) {
      if (report.unreached.size() < options.max_examples) report.unreached.push_back(pair);
    }
    add_circles(topology, plane, *whole.channels, report);
    add_loads(topology, plane, whole, report);
    for (const std::uint64_t load :
         shift_loads(plane, ports, plane_tables, sample_shifts(plane, options.shift_samples))) {
      report.worst_shift_load = std::max(report.worst_shift_load, load);
      shift_sum += load;
      ++shift_count;
    }
  }
  if (shift_count > 0) report.mean_shift_load = static_cast<double>(shift_sum) / static_cast<double>(shift_count);
  add_findings(view, tables, report);
  return report;
}

}  // namespace railweave::fabric
