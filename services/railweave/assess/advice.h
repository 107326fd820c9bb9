// One thing that the report says: what was found, how sure that is, what it costs, what to do, and what shows it.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

struct Advice {
  std::string code;      // as of the findings of fabric/topology/checks, or of this report: "heldCreditLoops"
  std::string severity;  // "error", "warning", "info"
  std::string title, sure, cost, action, command;
  std::vector<std::string> objects;
};

Json to_json(const Advice& advice);

}  // namespace railweave::cli
