// Whose forwarding tables an answer rests on: its member `tables`, one line for each subnet.
#pragma once

#include <string>

#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

// "as Railweave computes them, read back at ..."; one item of `tables`.
std::string tables_text(const Json& one);
// For the end of a line about jobs: "by the tables that switches hold" and the like; of all items.
std::string routes_text(const Json& tables);
// Adds a line for each subnet. Where only one is concerned, without its name.
void add_tables(Sheet& sheet, const Json& tables);

}  // namespace railweave::cli
