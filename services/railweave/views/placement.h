// Where a job goes, or why it does not, for people. The fields are those of POST /v1/placements/query, GET
// /v1/jobs/{id} and `railweave lab place`.
#pragma once

#include <string>

#include "services/railweave/terminal/output.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

// "96 GPUs on 12 nodes within one leafGroup" and so on; `placement` has level, nodesUsed, domainsUsed...
void add_placement(Sheet& sheet, const Json& placement);
// "groups" and "predicted" of an answer, as far as it has them; and its "alternatives" as a table.
void add_prediction(Sheet& sheet, const Json& answer);
// "withContention": how much longer it takes beside other jobs, where, and whom it slows.
void add_contention(Sheet& sheet, const Json& answer);
void print_alternatives(Output& output, const Json& answer);

// What is needed, what fits at each level, which nodes were left out and why, what would change the answer.
// `answer` has outcome, reason (or detail) and explanation.
void print_explanation(Output& output, const Json& answer);

// "cannot be placed now", "can never be placed".
std::string outcome_text(const std::string& outcome);

// warnings[]: a line each on stderr.
void note_warnings(Output& output, const Json& answer);

}  // namespace railweave::cli
