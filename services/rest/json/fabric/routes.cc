#include "services/rest/json/fabric/routes.h"

#include <map>

#include "services/control/views/reachable_parts.h"
#include "services/json/json_out.h"
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

Out audit_json(const control::FabricRoutes& routes) {
  const AuditReport& report = routes.audit();
  const Topology& topology = routes.scope().topology();
  Out unreached = Out::array();
  for (const auto& pair : report.unreached) {
    unreached.push_back({{"from", topology.name(pair.from)},
                         {"to", destination_text(routes.scope(), pair.destination)},
                         {"at", pair.at ? Out(topology.name(pair.at)) : Out(nullptr)},
                         {"endPorts", pair.sources},
                         {"reason", reason_text(pair.reason)}});
  }
  Out circle = Out::array();
  for (const PortId port : report.credit_loop) circle.push_back(topology.port_text(port));
  return {{"engine", routes.routing.engine},
          {"sound", report.verified()},
          {"pairs", report.pairs},
          {"unreachablePairs", report.unreachable_pairs},
          {"cutOffPairs", report.cut_off_pairs},
          {"loopingPairs", report.looping_pairs},
          {"unreached", std::move(unreached)},
          {"longestRoute", report.longest_route},
          {"nonminimalPairs", report.nonminimal_pairs},
          {"lanesUsed", report.lanes},
          {"creditLoops", report.credit_loops},
          {"creditLoop", std::move(circle)},
          {"maxLinkLoad", report.max_link_load},
          {"maxLink", directed_link_json(topology, report.max_link)},
          {"maxLinkLoadHosts", report.max_link_load_hosts},
          {"maxLinkHosts", directed_link_json(topology, report.max_link_hosts)},
          {"worstShiftLoad", report.worst_shift_load},
          {"meanShiftLoad", report.mean_shift_load},
          {"drainedEntries", report.drained_entries},
          {"findings", findings_json(report.findings)}};
}

Out trace_json(const Topology& topology, const NamedTrace& named) {
  Out hops = Out::array();
  for (const auto& hop : named.trace.hops) {
    const auto link = topology.link(hop.out);
    hops.push_back({{"from", device_text(topology, hop.out)},
                    {"outPort", topology.number(hop.out)},
                    {"to", device_text(topology, hop.in)},
                    {"inPort", topology.number(hop.in)},
                    {"lane", hop.lane},
                    {"rateGbps", topology.rate(link).gbps()},
                    {"link", topology.link_text(link)}});
  }
  const auto rail = topology.rail(named.from);
  return {{"from", device_text(topology, named.from)},
          {"fromPort", topology.port_text(named.from)},
          {"to", device_text(topology, named.to)},
          {"toPort", topology.port_text(named.to)},
          {"rail", rail && rail == topology.rail(named.to) ? Out(topology.name(rail)) : Out(nullptr)},
          {"outcome", to_text(named.trace.end)},
          {"serviceLevel", named.trace.service_level},
          {"hops", std::move(hops)}};
}

}  // namespace

Result<RouteChange> read_route_change(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  return read_route_change(*value, "");
}

Result<RouteChange> read_route_change(const Json& value, const std::string& pointer) {
  RouteChange change;
  ObjectReader reader(value, pointer);
  reader.read("failLinks", change.fail_links, kMaxChanged);
  reader.read("failSwitches", change.fail_switches, kMaxChanged);
  reader.read("drainLinks", change.drain_links, kMaxChanged);
  reader.read("drainSwitches", change.drain_switches, kMaxChanged);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (value.empty()) {
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
    planes.push_back({{"subnet", topology.name(topology.subnet(plane.switches.front()))},
                      {"switches", plane.switch_count()},
                      {"endPorts", here},
                      {"destinations", plane.destination_count()},
                      {"lanesUsed", routes.routing.lanes.planes[id.index()].lanes}});
  }
  return dump(Out{{"engine", routes.routing.engine},
                  {"engineReason", routes.choice.reason},
                  {"topologyVersion", version},
                  {"tablesDigest", digest_text(routes.routing.tables.digest())},
                  {"switches", topology.switches().size()},
                  {"endPorts", end_ports},
                  {"lanesUsed", routes.routing.lanes.used()},
                  {"planes", std::move(planes)},
                  {"tables", tables_json(tables)},
                  {"findings", findings_json(routes.routing.findings)}});
}

std::string write_routes_audit(const control::FabricRoutes& routes, TablesList tables) {
  Out audit = audit_json(routes);
  audit["tables"] = tables_json(tables);
  return dump(audit);
}

std::string write_paths(const Topology& topology, std::string_view from, std::string_view to,
                        const std::vector<NamedTrace>& traces, TablesList tables) {
  Out paths = Out::array();
  for (const auto& trace : traces) paths.push_back(trace_json(topology, trace));
  return dump(Out{{"from", from}, {"to", to}, {"paths", std::move(paths)}, {"tables", tables_json(tables)}});
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
    switches.push_back({{"switch", topology.name(sw)}, {"entries", changed.entries}, {"blocks", changed.blocks}});
  }
  return dump(Out{{"engine", after.routing.engine},
                  {"incremental", after.routing.incremental},
                  {"changedEntries", delta.changed_entries},
                  {"changedBlocks", delta.changed_blocks},
                  {"changedSwitches", by_switch.size()},
                  {"urgentWrites", urgent},
                  {"stages", delta.stages},
                  {"dropsFirst", delta.drops_first},
                  {"cutsOff", cut_off_json(topology, cut_off)},
                  {"cutsOffCount", cut_off.size()},
                  {"switches", std::move(switches)},
                  {"before", audit_json(before)},
                  {"after", audit_json(after)},
                  {"findings", findings_json(delta.findings)}});
}

}  // namespace railweave::api
