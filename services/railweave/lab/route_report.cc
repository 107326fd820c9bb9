#include "services/railweave/lab/route_report.h"

#include "services/json/json_out.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/rest/json/fabric/fabric_value.h"
#include "services/rest/json/routing_value.h"

namespace railweave::cli {

namespace {

void add_audit(Json& value, const fabric::AuditReport& audit, const fabric::Topology& topology) {
  value["unreachablePairs"] = audit.unreachable_pairs;
  value["creditLoops"] = audit.credit_loops;
  value["maxLinkLoad"] = audit.max_link_load;
  value["maxLink"] = api::directed_link_json(topology, audit.max_link);
  value["maxLinkLoadHosts"] = audit.max_link_load_hosts;
  value["maxLinkHosts"] = api::directed_link_json(topology, audit.max_link_hosts);
}

Json multipath_json(const MultipathReport& multipath, const fabric::Topology& topology) {
  const auto& report = multipath.report;
  return {{"sound", report.verified()},
          {"pairs", report.pairs},
          {"unreachable", report.unreachable},
          {"cutOff", report.cut_off},
          {"looping", report.looping},
          {"creditLoop", report.credit_loop},
          {"mostMembers", report.most_members},
          {"maxLinkLoadHosts", report.max_link_load_hosts},
          {"maxLinkHosts", api::directed_link_json(topology, report.max_link_hosts)},
          {"hashedFlows", multipath.flows},
          {"hashedMembers", multipath.members},
          {"collisionFactor", multipath.collision_factor},
          {"makeMs", multipath.make_ms},
          {"auditMs", multipath.audit_ms}};
}

}  // namespace

Json to_json(const RouteReport& route, const fabric::Topology& topology) {
  Json value{{"engine", route.engine},
             {"engineReason", route.engine_reason},
             {"switches", route.switches},
             {"endPorts", route.end_ports},
             {"hostPorts", route.host_ports},
             {"planes", route.planes},
             {"destinations", route.destinations},
             {"pairs", route.audit.pairs}};
  add_audit(value, route.audit, topology);
  value["cutOffPairs"] = route.audit.cut_off_pairs;
  value["loopingPairs"] = route.audit.looping_pairs;
  value["nonminimalPairs"] = route.audit.nonminimal_pairs;
  value["longestRoute"] = route.audit.longest_route;
  value["worstShiftLoad"] = route.audit.worst_shift_load;
  value["meanShiftLoad"] = route.audit.mean_shift_load;
  value["lanesUsed"] = route.lanes_used;
  value["sound"] = route.audit.verified();
  value["failedLinks"] = route.failed_links;
  value["healthy"] = nullptr;
  if (route.healthy) add_audit(value["healthy"] = Json::object(), *route.healthy, topology);
  value["incremental"] = route.incremental;
  value["changedEntries"] = route.changed_entries;
  value["changedBlocks"] = route.changed_blocks;
  value["stages"] = route.stages;
  value["dropsFirst"] = route.drops_first;
  value["scopeMs"] = route.took.scope_ms;
  value["routeMs"] = route.took.route_ms;
  value["rerouteMs"] = route.took.reroute_ms;
  value["deltaMs"] = route.took.delta_ms;
  value["auditMs"] = route.took.audit_ms;
  value["peakMiB"] = route.peak_mib;
  value["tablesMiB"] = route.tables_mib;
  value["tablesDigest"] = api::digest_text(route.digest);
  value["against"] = nullptr;
  if (route.against) {
    Json other{{"source", route.against->source},
               {"entries", route.against->entries},
               {"differingEntries", route.against->differing_entries},
               {"unknownSwitches", route.against->unknown_switches},
               {"unknownLids", route.against->unknown_lids}};
    add_audit(other, route.against->audit, topology);
    value["against"] = std::move(other);
  }
  value["multipath"] = nullptr;
  if (route.multipath) value["multipath"] = multipath_json(*route.multipath, topology);
  value["findings"] = api::findings_json(route.findings);
  return value_or_fail(parse_json(api::dump(value)));
}

}  // namespace railweave::cli
