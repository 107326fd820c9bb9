#include "services/railweave/commands/switches/switch_script.h"

#include <fmt/core.h>

#include "fabric/base/process/program.h"

namespace railweave::cli {

Result<void> run_switch_script(const std::string& program, const std::string& name, const std::string& text,
                               std::chrono::seconds timeout) {
  const auto end = run_program({.arguments = {program, name}, .input = text, .timeout = timeout, .to_stderr = true});
  if (!end) return fail(ErrorKind::unavailable, "cli.scriptFailed", end.error().message);
  if (end->is_success()) return {};
  return fail(ErrorKind::unavailable, "cli.scriptFailed", fmt::format("{} {} {}", program, name, end->how()));
}

}  // namespace railweave::cli
