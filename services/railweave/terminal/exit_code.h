// The exit codes of railweave, and the only place where an ErrorKind becomes one. `railweave --help` prints the list, so
// scripts may rely on it.
#pragma once

#include <span>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::cli {

enum class ExitCode : int {
  ok = 0,
  internal = 1,
  usage = 2,
  unreachable = 3,
  not_found = 4,
  conflict = 5,
  not_now = 6,
  never = 7,
  invalid_input = 8,
  unavailable = 9,
  findings = 10,
  denied = 11,
};

struct ExitCodeMeaning {
  ExitCode code;
  std::string_view meaning;
};
std::span<const ExitCodeMeaning> exit_code_meanings();

ExitCode exit_code_of(const Error& error);
// For the outcome of a placement: "placed", "notNow" or "never"; any other is internal.
ExitCode exit_code_of_outcome(std::string_view outcome);

// The kind of error that an HTTP status of 400 or more stands for.
ErrorKind kind_of_status(int status);

}  // namespace railweave::cli
