// One thing that the report says: what was found, how sure that is, what it costs, what to do, and what shows it.
#pragma once

#include <cstddef>
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
// Of rows of a source of jobs; `rows` names the first of them, and why each was left out.
Advice rows_left_out(std::size_t count, const std::vector<std::string>& rows, std::string command);

}  // namespace railweave::cli
