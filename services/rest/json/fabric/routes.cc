#include "services/rest/json/fabric/routes.h"

#include <map>

#include "services/control/views/reachable_parts.h"
#include "services/json/contract_object.h"
#include "services/json/strict_json.h"
#include "services/rest/json/fabric/drain_value.h"
#include "services/rest/json/fabric/fabric_value.h"
#include "services/rest/json/routing_value.h"
#include "services/rest/json/tables_value.h"

namespace railweave::api {
namespace {

using fabric::AuditReport;
using fabric::PortId;
using fabric::Topology;

constexpr std::size_t kMaxChanged = 10'000;  // links or switches in one what-if
constexpr std::size_t kMaxSwitchesListed = 1'000;

constexpr auto kChangeFields =
    request_fields<"RouteChange">(field<"failLinks">(&RouteChange::fail_links, Strings{kMaxChanged}),
                                  field<"failSwitches">(&RouteChange::fail_switches, Strings{kMaxChanged}),
                                  field<"drainLinks">(&RouteChange::drain_links, Strings{kMaxChanged}),
                                  field<"drainSwitches">(&RouteChange::drain_switches, Strings{kMaxChanged}));

std::string_view reason_text(fabric::UnreachedPair::Reason reason) {
  using Reason = fabric::UnreachedPair::Reason;
  switch (reason) {
    case Reason::source_cut_off:
      return "sourceCutOff";
    case Reason::destination_cut_off:
      return "destinationCutOff";
    case Reason::disconnected:
      return "disconnected";
    case Reason::drained:
      return "drained";
    case Reason::no_entry:
      return "noEntry";
    case Reason::dead_port:
      return "deadPort";
    case Reason::wrong_port:
      return "wrongPort";
    case Reason::loop:
      return "loop";
  }
  return "";
}

std::string destination_text(const fabric::RoutingScope& scope, fabric::DestinationId id) {
  const auto& destination = scope.destination(id);
  if (!destination.port) return std::string(scope.topology().name(destination.home));
  return device_text(scope.topology(), destination.port);
}

auto audit_parts(const control::FabricRoutes& routes) {
  const AuditReport& report = routes.audit();
  const Topology& topology = routes.scope().topology();
  Out unreached = Out::array();
  for (const auto& pair : report.unreached) {
    unreached.push_back(object<"RoutesAudit.unreached">(
        with<"from">(topology.name(pair.from)), with<"to">(destination_text(routes.scope(), pair.destination)),
        with<"at">(pair.at ? Out(topology.name(pair.at)) : Out(nullptr)), with<"endPorts">(pair.sources),
        with<"reason">(reason_text(pair.reason))));
  }
  Out circle = Out::array();
  for (const PortId port : report.credit_loop) circle.push_back(topology.port_text(port));
  return several(with<"engine">(routes.routing.engine), with<"sound">(report.verified()), with<"pairs">(report.pairs),
                 with<"unreachablePairs">(report.unreachable_pairs), with<"cutOffPairs">(report.cut_off_pairs),
                 with<"loopingPairs">(report.looping_pairs), with<"unreached">(std::move(unreached)),
                 with<"longestRoute">(report.longest_route), with<"nonminimalPairs">(report.nonminimal_pairs),
                 with<"lanesUsed">(report.lanes), with<"creditLoops">(report.credit_loops),
                 with<"creditLoop">(std::move(circle)), with<"maxLinkLoad">(report.max_link_load),
                 with<"maxLink">(directed_link_json(topology, report.max_link)),
                 with<"maxLinkLoadHosts">(report.max_link_load_hosts),
                 with<"maxLinkHosts">(directed_link_json(topology, report.max_link_hosts)),
                 with<"worstShiftLoad">(report.worst_shift_load), with<"meanShiftLoad">(report.mean_shift_load),
                 with<"drainedEntries">(report.drained_entries), with<"findings">(findings_json(report.findings)));
}

Out trace_json(const Topology& topology, const NamedTrace& named) {
  Out hops = Out::array();
  for (const auto& hop : named.trace.hops) {
    const auto link = topology.link(hop.out);
    hops.push_back(object<"Paths.paths.hops">(
        with<"from">(device_text(topology, hop.out)), with<"outPort">(topology.number(hop.out)),
        with<"to">(device_text(topology, hop.in)), with<"inPort">(topology.number(hop.in)), with<"lane">(hop.lane),
        with<"rateGbps">(topology.rate(link).gbps()), with<"link">(topology.link_text(link))));
  }
  const auto rail = topology.rail(named.from);
  return object<"Paths.paths">(
      with<"from">(device_text(topology, named.from)), with<"fromPort">(topology.port_text(named.from)),
      with<"to">(device_text(topology, named.to)), with<"toPort">(topology.port_text(named.to)),
      with<"rail">(rail && rail == topology.rail(named.to) ? Out(topology.name(rail)) : Out(nullptr)),
      with<"outcome">(named.trace.end), with<"serviceLevel">(named.trace.service_level), with<"hops">(std::move(hops)));
}

}  // namespace

Result<RouteChange> read_route_change(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  return read_route_change(*value, "");
}

Result<RouteChange> read_route_change(const Json& value, const std::string& pointer) {
  auto change = record_from_json<RouteChange>(value, pointer, kChangeFields);
  if (change && value.empty()) {
    return fail(ErrorKind::invalid, "body.missingField", "the request changes no link and no switch", pointer,
                "name links or switches in failLinks, failSwitches, drainLinks or drainSwitches");
  }
  return change;
}

std::string write_routes(const control::FabricRoutes& routes, std::uint64_t version, TablesList tables) {
  const auto& scope = routes.scope();
  const Topology& topology = scope.topology();
  Out planes = Out::array();
  std::size_t end_ports = 0;
  for (const auto id : scope.planes()) {
    const auto& plane = scope.plane(id);
    std::size_t here = 0;
    for (const auto& home : plane.homes) here += home.end_ports;
    end_ports += here;
    planes.push_back(object<"Routes.planes">(with<"subnet">(topology.name(topology.subnet(plane.switches.front()))),
                                             with<"switches">(plane.switch_count()), with<"endPorts">(here),
                                             with<"destinations">(plane.destination_count()),
                                             with<"lanesUsed">(routes.routing.lanes.planes[id.index()].lanes)));
  }
  return dump(object<"Routes">(
      with<"engine">(routes.routing.engine), with<"engineReason">(routes.choice.reason),
      with<"topologyVersion">(version), with<"tablesDigest">(digest_text(routes.routing.tables.digest())),
      with<"switches">(topology.switches().size()), with<"endPorts">(end_ports),
      with<"lanesUsed">(routes.routing.lanes.used()), with<"planes">(std::move(planes)),
      with<"tables">(tables_json(tables)), with<"findings">(findings_json(routes.routing.findings))));
}

std::string write_routes_audit(const control::FabricRoutes& routes, TablesList tables) {
  return dump(object<"RoutesAudit">(audit_parts(routes), with<"tables">(tables_json(tables))));
}

std::string write_paths(const Topology& topology, std::string_view from, std::string_view to,
                        const std::vector<NamedTrace>& traces, TablesList tables) {
  Out paths = Out::array();
  for (const auto& trace : traces) paths.push_back(trace_json(topology, trace));
  return dump(object<"Paths">(with<"from">(from), with<"to">(to), with<"paths">(std::move(paths)),
                              with<"tables">(tables_json(tables))));
}

std::string write_routes_diff(const control::FabricRoutes& before, const control::FabricRoutes& after,
                              const fabric::ForwardingDelta& delta) {
  const Topology& topology = before.scope().topology();
  const std::vector<PortId> cut_off = control::find_cut_off(before.input.view, after.input.view);
  struct Changed {
    std::size_t entries = 0, blocks = 0;
  };
  std::map<fabric::SwitchId, Changed> by_switch;
  std::size_t urgent = 0;
  for (const auto& block : delta.blocks) {
    auto& changed = by_switch[block.sw];
    changed.entries += block.changed;
    ++changed.blocks;
    urgent += block.urgent ? 1 : 0;
  }
  Out switches = Out::array();
  for (const auto& [sw, changed] : by_switch) {
    if (switches.size() == kMaxSwitchesListed) break;
    switches.push_back(object<"RoutesDiff.switches">(with<"switch">(topology.name(sw)),
                                                     with<"entries">(changed.entries), with<"blocks">(changed.blocks)));
  }
  return dump(object<"RoutesDiff">(
      with<"engine">(after.routing.engine), with<"incremental">(after.routing.incremental),
      with<"changedEntries">(delta.changed_entries), with<"changedBlocks">(delta.changed_blocks),
      with<"changedSwitches">(by_switch.size()), with<"urgentWrites">(urgent), with<"stages">(delta.stages),
      with<"dropsFirst">(delta.drops_first), with<"cutsOff">(cut_off_json(topology, cut_off)),
      with<"cutsOffCount">(cut_off.size()), with<"switches">(std::move(switches)),
      with<"before">(object<"RoutesAudit">(audit_parts(before), without<"tables">())),
      with<"after">(object<"RoutesAudit">(audit_parts(after), without<"tables">())),
      with<"findings">(findings_json(delta.findings))));
}

}  // namespace railweave::api
