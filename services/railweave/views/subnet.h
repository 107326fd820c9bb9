// Subnets, for people. The fields are those of GET /v1/subnets/{id} and GET /v1/fabric/sync.
#pragma once

#include <string>

#include "services/railweave/terminal/output.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

Cell phase_cell(const std::string& phase);
Cell subnet_phase_cell(const Json& subnet);  // "-" if it is not live
// Nothing is known of it now: its links and tables are those of last_seen_text().
bool is_unseen(const Json& live);
std::string last_seen_text(const Json& live);

// What senders meet that keep service levels from before the last repair; "": nothing that they must act on.
std::string old_levels_warning(const Json& live);

void print_subnet(Output& output, const Json& subnet);
void print_differences(Output& output, const Json& differences, std::uint64_t count);
// The state of a live subnet on one line.
std::string subnet_line(const Json& subnet);

}  // namespace railweave::cli
