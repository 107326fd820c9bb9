// Routes a fabric as cabled and again after link failures, compares the tables and audits them (`railweave lab route`).
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
  std::string against, against_subnet;  // file paths; empty: none
  bool multipath = false;               // also path sets; fails for engines that offer one next hop only
};

struct RoutedFabric {
  fabric::FabricView view;  // after the failures
  fabric::Routing routing;
  RouteReport report;
};

// Throws CommandFailure.
RoutedFabric route_fabric(const fabric::TopologyPtr& topology, const RouteRequest& request);

}  // namespace railweave::cli
