// What `railweave lab route` does: tables for a fabric as cabled, again after links failed, what changed, and whether
// the result is sound.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/topology.h"
#include "services/railweave/lab/route_report.h"

namespace railweave::cli {

struct RouteRequest {
  std::string engine = "auto";
  std::vector<fabric::LinkId> failures;
  std::optional<std::uint64_t> lmc;
  std::uint64_t max_lanes = 8;
  std::string against, against_subnet;  // paths; empty: none
  bool multipath = false;               // path sets too; fails for engines whose routes allow one way only
};

struct RoutedFabric {
  fabric::FabricView view;  // after the failures
  fabric::Routing routing;
  RouteReport report;
};

// Throws CommandFailure.
RoutedFabric route_fabric(const fabric::TopologyPtr& topology, const RouteRequest& request);

}  // namespace railweave::cli
