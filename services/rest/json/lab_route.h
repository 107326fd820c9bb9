// What `railweave lab route -o json` prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/multipath/path_sets_audit.h"
#include "fabric/topology/finding.h"

namespace railweave::api {

// Tables of somebody else for the same fabric.
struct LabComparison {
  std::string source;
  std::size_t entries = 0;            // that were read
  std::size_t differing_entries = 0;  // of switch and destination; where only one of both has a port, too
  std::size_t unknown_switches = 0, unknown_lids = 0;
  fabric::AuditReport audit;
};

// All nearest links at once, as ECMP, spraying or adaptive routing use them.
struct LabMultipath {
  fabric::PathSetsReport report;
  std::uint32_t flows = 0;      // one from every host port of the leaf that has most of them, hashed onto
  unsigned members = 0;         // so many links
  double collision_factor = 1;  // makes the fullest link this much slower than an even split
  double make_ms = 0, audit_ms = 0;
};

struct LabRoute {
  std::string engine, engine_reason;
  std::size_t switches = 0, end_ports = 0, host_ports = 0, destinations = 0, planes = 0;
  unsigned lanes_used = 1;
  std::vector<std::string> failed_links;
  std::optional<fabric::AuditReport> healthy;  // where links failed: before they did
  fabric::AuditReport audit;                   // of the tables in the end
  bool incremental = false;
  std::size_t changed_entries = 0, changed_blocks = 0, stages = 0;
  bool drops_first = false;
  double scope_ms = 0, route_ms = 0, reroute_ms = 0, delta_ms = 0, audit_ms = 0;
  double peak_mib = 0, tables_mib = 0;
  std::uint64_t digest = 0;  // of the tables
  std::optional<LabComparison> against;
  std::optional<LabMultipath> multipath;
  std::vector<fabric::Finding> findings;
};

std::string write_lab_route(const LabRoute& route, const fabric::Topology& topology);

}  // namespace railweave::api
