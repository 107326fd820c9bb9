// A fabric's summary and what its checks found, for people. The fields are those of GET /v1/fabric and
// GET /v1/fabric/findings, and of `railweave lab fabric`.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "services/railweave/terminal/exit_code.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

void print_fabric_summary(Output& output, const Json& fabric);
void print_findings(Output& output, const Json& findings);  // the list; ends with how many of each severity

// --fail-on info|warning|error, and what it means for the exit code.
void add_fail_on_option(CLI::App& command, std::string& severity);
ExitCode exit_code_of_findings(const Json& findings, const std::string& fail_on);

}  // namespace railweave::cli
