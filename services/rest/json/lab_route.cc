#include "services/rest/json/lab_route.h"

#include "services/json/json_out.h"
#include "services/rest/json/findings_value.h"
#include "services/rest/json/routing_value.h"

namespace railweave::api {

namespace {

using fabric::AuditReport;
using fabric::Topology;

void add_audit(Out& value, const AuditReport& audit, const Topology& topology) {
  value["unreachablePairs"] = audit.unreachable_pairs;
  value["creditLoops"] = audit.credit_loops;
  value["maxLinkLoad"] = audit.max_link_load;
  value["maxLink"] = directed_link_json(topology, audit.max_link);
  value["maxLinkLoadHosts"] = audit.max_link_load_hosts;
  value["maxLinkHosts"] = directed_link_json(topology, audit.max_link_hosts);
}

Out multipath_json(const LabMultipath& multipath, const Topology& topology) {
  const auto& report = multipath.report;
  return {{"sound", report.verified()},
          {"pairs", report.pairs},
          {"unreachable", report.unreachable},
          {"cutOff", report.cut_off},
          {"looping", report.looping},
          {"creditLoop", report.credit_loop},
          {"mostMembers", report.most_members},
          {"maxLinkLoadHosts", report.max_link_load_hosts},
          {"maxLinkHosts", directed_link_json(topology, report.max_link_hosts)},
          {"hashedFlows", multipath.flows},
          {"hashedMembers", multipath.members},
          {"collisionFactor", multipath.collision_factor},
          {"makeMs", multipath.make_ms},
          {"auditMs", multipath.audit_ms}};
}

}  // namespace

std::string write_lab_route(const LabRoute& route, const Topology& topology) {
  Out value{{"engine", route.engine},
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
  if (route.healthy) add_audit(value["healthy"] = Out::object(), *route.healthy, topology);
  value["incremental"] = route.incremental;
  value["changedEntries"] = route.changed_entries;
  value["changedBlocks"] = route.changed_blocks;
  value["stages"] = route.stages;
  value["dropsFirst"] = route.drops_first;
  value["scopeMs"] = route.scope_ms;
  value["routeMs"] = route.route_ms;
  value["rerouteMs"] = route.reroute_ms;
  value["deltaMs"] = route.delta_ms;
  value["auditMs"] = route.audit_ms;
  value["peakMiB"] = route.peak_mib;
  value["tablesMiB"] = route.tables_mib;
  value["tablesDigest"] = digest_text(route.digest);
  value["against"] = nullptr;
  if (route.against) {
    Out other{{"source", route.against->source},
              {"entries", route.against->entries},
              {"differingEntries", route.against->differing_entries},
              {"unknownSwitches", route.against->unknown_switches},
              {"unknownLids", route.against->unknown_lids}};
    add_audit(other, route.against->audit, topology);
    value["against"] = std::move(other);
  }
  value["multipath"] = nullptr;
  if (route.multipath) value["multipath"] = multipath_json(*route.multipath, topology);
  value["findings"] = findings_json(route.findings);
  return dump(value);
}

}  // namespace railweave::api
