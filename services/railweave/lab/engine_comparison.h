// The same fabric, with the same failures, routed by every engine (`railweave lab route --compare`).
#pragma once

#include <string>
#include <vector>

#include "fabric/routing/audit/audit.h"
#include "services/railweave/lab/routed_fabric.h"
#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct ComparedEngine {
  std::string name;
  bool taken = false;   // by `auto`
  std::string refusal;  // why it cannot route this fabric; then nothing below is set
  unsigned lanes = 1;
  bool incremental = false;  // repairs change what failed, and do not compute all tables again
  double route_ms = 0;
  fabric::AuditReport audit;
};

// In the order of the registry, on the fabric after the failures.
std::vector<ComparedEngine> compare_engines(const RoutedFabric& routed, const RouteRequest& request);

Json to_json(const std::vector<ComparedEngine>& engines);
void print_engines(Output& output, const Json& engines);  // as to_json() made them

}  // namespace railweave::cli
