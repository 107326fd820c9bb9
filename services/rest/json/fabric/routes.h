// Routes, their audit, single paths and what-if changes as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/plane/route_trace.h"
#include "services/control/views/routing_cache.h"
#include "services/control/views/tables_used.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// Links and switches that a what-if takes down or drains, as the caller names them.
struct RouteChange {
  std::vector<std::string> fail_links, fail_switches, drain_links, drain_switches;
};
Result<RouteChange> read_route_change(std::string_view body);
Result<RouteChange> read_route_change(const Json& value, const std::string& pointer);

struct NamedTrace {
  fabric::PortId from, to;
  fabric::RouteTrace trace;
};

// tables: whose they are.
using TablesList = std::span<const control::TablesUsed>;
std::string write_routes(const control::FabricRoutes& routes, std::uint64_t version, TablesList tables);
std::string write_routes_audit(const control::FabricRoutes& routes, TablesList tables);
std::string write_paths(const fabric::Topology& topology, std::string_view from, std::string_view to,
                        const std::vector<NamedTrace>& traces, TablesList tables);
std::string write_routes_diff(const control::FabricRoutes& before, const control::FabricRoutes& after,
                              const fabric::ForwardingDelta& delta);

}  // namespace railweave::api
