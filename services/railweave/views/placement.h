// The placement of a job or the explanation why it has none, for people. The fields are those of
// POST /v1/placements/query, GET /v1/jobs/{id} and `railweave lab place`.
#pragma once

#include <string>

#include "services/railweave/terminal/output.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

// A level of the contract in words: "NVLink domain" for "nvlinkDomain".
std::string level_text(const std::string& level);

// "430 ms", "18.5 ms", "0.125 ms"; "-" unless it is a number.
std::string milliseconds(const Json& value);

// The smallest group that holds the job, its nodes and NVLink domains; `placement` has level, nodesUsed, domainsUsed...
void add_placement(Sheet& sheet, const Json& placement);
// "groups" and "predicted" of an answer, where present.
void add_prediction(Sheet& sheet, const Json& answer);
// "withContention": the slowdown caused by other jobs, the most contended link, and the jobs that this one slows.
void add_contention(Sheet& sheet, const Json& answer);
// "alternatives", as a table.
void print_alternatives(Output& output, const Json& answer);

// "shapes", as a table: what would become of a job in each of several shapes.
void print_shapes(Output& output, const Json& answer);
// The parallelism of the shape that is taken, of a job with several; else that of the request.
const Json& parallelism_taken(const Json& answer, const Json& request);

// What is needed, what fits at each level, which nodes are excluded and why, and which changes would change the outcome.
// `answer` has outcome, reason (or detail) and explanation.
void print_explanation(Output& output, const Json& answer);
// When a job is expected to start, and after which others.
std::string expected_start_text(const Json& start);

// "cannot be placed now", "can never be placed".
std::string outcome_text(const std::string& outcome);

// A line on stderr for each of warnings[].
void note_warnings(Output& output, const Json& answer);

}  // namespace railweave::cli
