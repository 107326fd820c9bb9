// Runs the operator's own program that gives a switch its configuration: the service has no credentials of switches.
#pragma once

#include <chrono>
#include <string>

#include "fabric/base/error.h"

namespace railweave::cli {

// `program NAME`, with the text on its standard input and what it prints on standard error. Errors: it cannot be started, failed, or
// did not end in time, when it is killed with all that it started.
Result<void> run_switch_script(const std::string& program, const std::string& name, const std::string& text,
                               std::chrono::seconds timeout);

}  // namespace railweave::cli
