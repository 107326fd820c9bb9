// Reads what UFM answers to GET /ufmRest/resources/systems (its REST API guide, "Systems REST API"): the switches and hosts
// that it knows, with the ports of each.
//
//   [{"system_name": "node-7", "guid": "248a0703008a850a", "type": "host", "ports": ["248a0703008a850b_1"], ...}]
//
// Errors: no such JSON, no system, tooLarge.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/formats/text/row_left_out.h"

namespace railweave::fabric {

struct UfmSystem {
  std::string name, type;   // "host", "switch", "router", "gateway"
  Guid guid;                // of the node: one of its adapters, or the switch; not known: UFM tells none
  std::vector<Guid> ports;  // of its adapters' ports; empty where the answer leaves them out
};

struct UfmSystems {
  std::vector<UfmSystem> systems;
  RowsLeftOut left_out;  // rows that could not be used, and why
};

Result<UfmSystems> read_ufm_systems(std::string_view text, const ReadOptions& options);

}  // namespace railweave::fabric
