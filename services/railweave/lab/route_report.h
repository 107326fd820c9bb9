// What `railweave lab route` measured, and its JSON document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/multipath/path_sets_audit.h"
#include "fabric/topology/finding.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// Tables of another subnet manager for the same fabric (--against).
struct TableComparison {
  std::string source;
  std::size_t entries = 0;            // entries read
  std::size_t differing_entries = 0;  // pairs of switch and destination, also where only one side has a port
  std::size_t unknown_switches = 0, unknown_lids = 0;
  fabric::AuditReport audit;
};

// Path sets: all links on shortest paths at once, as ECMP, spraying or adaptive routing use them (--multipath).
struct MultipathReport {
  fabric::PathSetsReport report;
  // One flow from every host port of the leaf with the most of them, hashed onto `members` links, loads the fullest link
  // collision_factor times as much as an even split.
  std::uint32_t flows = 0;
  unsigned members = 0;
  double collision_factor = 1;
  double make_ms = 0, audit_ms = 0;
};

struct RouteReport {
  std::string engine, engine_reason;
  std::size_t switches = 0, end_ports = 0, host_ports = 0, destinations = 0, planes = 0;
  unsigned lanes_used = 1;
  std::vector<std::string> failed_links;
  std::optional<fabric::AuditReport> healthy;  // before links failed; none: no link failed
  fabric::AuditReport audit;                   // of the final tables
  bool incremental = false;
  std::size_t changed_entries = 0, changed_blocks = 0, stages = 0;
  bool drops_first = false;
  struct Times {
    double scope_ms = 0, route_ms = 0, reroute_ms = 0, delta_ms = 0, audit_ms = 0;
  };
  Times took;
  double peak_mib = 0, tables_mib = 0;
  std::uint64_t digest = 0;  // of the tables
  std::optional<TableComparison> against;
  std::optional<MultipathReport> multipath;
  std::vector<fabric::Finding> findings;
};

// What `railweave lab route -o json` prints.
Json to_json(const RouteReport& route, const fabric::Topology& topology);

}  // namespace railweave::cli
