// A fabric's summary and the findings of its checks, for people. The fields are those of GET /v1/fabric and
// GET /v1/fabric/findings, and of `railweave lab fabric`.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "services/railweave/terminal/exit_code.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

void print_fabric_summary(Output& output, const Json& fabric);
void print_findings(Output& output, const Json& findings);  // the list, then the number of each severity

// --fail-on info|warning|error|never, and the exit code that follows from it.
void add_fail_on_option(CLI::App& command, std::string& severity);
ExitCode exit_code_of_findings(const Json& findings, const std::string& fail_on);

}  // namespace railweave::cli
